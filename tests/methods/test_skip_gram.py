"""Skip-gram: its windows, its noise and its loss, each against a plain rewriting."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.stats import chisquare

from dsgrl.graph.sampled_walks import MISSING
from dsgrl.methods.skip_gram import Noise, SkipGram, Windows, make_windows, rounds

WALKS = np.array([[0, 1, 2, 1, 0, 3, 4], [4, 3, 0, MISSING, MISSING, MISSING, MISSING]])
# Nodes 0 to 2 are of one kind, 3 to 5 of another.
TYPED = [0, 3, 6]


def windows(window: int, bounds: list[int], negatives: int = 2) -> Windows:
    settings = SimpleNamespace(window=window, negatives=negatives)
    generator = np.random.default_rng(0)
    made = make_windows(WALKS, Noise([WALKS], bounds), settings, generator)
    return Windows(*map(torch.from_numpy, made))


def pairs_of_walks(window: int) -> Counter[tuple[int, int]]:
    """Weigh every pair of a centre and a context, one walk at a time."""
    found: Counter[Any] = Counter()
    for walk in WALKS:
        nodes = [int(node) for node in walk if node != MISSING]
        for i, center in enumerate(nodes):
            for j, context in enumerate(nodes):
                distance = abs(i - j)
                if 0 < distance <= window:
                    found[center, context] += (window - distance + 1) / window
    return found


@pytest.mark.parametrize("window", [1, 2, 3, 5, 9])
def test_windows__have_every_pair_once_with_the_weight_of_its_distance(
    window: int,
) -> None:
    batch = windows(window, [0, 6])
    found: Counter[Any] = Counter()
    for centers, contexts in zip(batch.center, batch.context, strict=True):
        for j, context in enumerate(contexts.tolist()):
            for i, center in enumerate(centers.tolist()):
                weight = float(batch.weight[j, i])
                if weight and MISSING not in (center, context):
                    found[center, context] += weight
    wanted = pairs_of_walks(window)
    assert found.keys() == wanted.keys()
    for pair, weight in wanted.items():
        assert found[pair] == pytest.approx(weight)


@pytest.mark.parametrize("bounds", [[0, 6], TYPED])
def test_loss__is_that_of_pairs_and_their_noise(bounds: list[int]) -> None:
    """One pair at a time; noise counts as if K were drawn for each pair."""
    torch.manual_seed(0)
    method, negatives = SkipGram(6, 3, negatives=2), 2
    with torch.no_grad():
        for table in method.parameters():
            table.normal_()
    batch = windows(2, bounds)
    total, pairs = torch.zeros(()), 0.0
    x, y = method.center, method.context
    for row, (centers, contexts) in enumerate(
        zip(batch.center.tolist(), batch.context.tolist(), strict=True)
    ):
        for j, context in enumerate(contexts):
            for i, center in enumerate(centers):
                weight = float(batch.weight[j, i])
                if MISSING in (center, context) or not weight:
                    continue
                kind = int(batch.kind[row, j].argmax())
                wrong = batch.noise[row, kind]
                assert ((wrong < 3) == (context < 3)).all() or len(bounds) == 2
                scores = -(y[wrong] @ x[center])
                noise = negatives * F.logsigmoid(scores).mean()
                real = F.logsigmoid(x[center] @ y[context])
                total = total - weight * (real + noise)
                pairs += weight
    torch.testing.assert_close(method.training_loss(batch).total, total / pairs)


def test_noise__is_drawn_in_proportion_to_visits_to_the_power() -> None:
    walks = np.array([[0, 0, 0, 0], [1, 1, 1, 2], [2, 4, 5, MISSING]])
    noise = Noise([walks, walks[:1]], TYPED)
    visits = np.array([8, 3, 2, 0, 1, 1]) ** 0.75
    generator = np.random.default_rng(0)
    for kind, nodes in enumerate(([0, 1, 2], [3, 4, 5])):
        drawn = noise.draw(kind, (50, 200), generator)
        counts = np.bincount(drawn.ravel(), minlength=6)[nodes]
        assert counts.sum() == drawn.size
        chance = visits[nodes] / visits[nodes].sum()
        possible = chance > 0
        assert not counts[~possible].any()
        expected = chance[possible] * drawn.size
        assert chisquare(counts[possible], expected).pvalue > 1e-3
    kinds = noise.kinds_of(np.array([0, 2, 3, 5, MISSING]))
    np.testing.assert_array_equal(kinds, [0, 0, 1, 1, -1])


def test_loss__of_walks_without_pairs_is_zero() -> None:
    """A graph without edges trains nothing, and does not fail."""
    method = SkipGram(6, 3, negatives=2)
    alone = np.array([[2, MISSING, MISSING], [5, MISSING, MISSING]])
    settings = SimpleNamespace(window=2, negatives=2)
    made = make_windows(
        alone, Noise([alone], [0, 6]), settings, np.random.default_rng()
    )
    loss = method.training_loss(Windows(*map(torch.from_numpy, made)))
    loss.backward()
    assert loss.total.item() == 0
    assert all(not p.grad.any() for p in method.parameters())


@pytest.mark.parametrize("size", [1, 7, 30, 1000])
def test_rounds__add_up_to_the_walks_of_every_node(size: int) -> None:
    settings = SimpleNamespace(walks_per_node=10, batch_size=size)
    taken = list(rounds(settings, [20, 6]))
    assert sum(taken) == 10
    assert all(6 * times >= size or sum(taken) == 10 for times in taken)
    assert (len(taken) == 10) == (size <= 6)
