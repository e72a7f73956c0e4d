"""Other ways to judge an embedding than ours, to measure what each does to a score.

The paper's authors judge otherwise than their text, and otherwise than we do. Nothing
here is used but in `variants`; all numbers of ours elsewhere come from
`dsgrl.evaluation`.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from dsgrl.evaluation import evaluate
from dsgrl.evaluation.labels import Targets, encode_labels
from dsgrl.evaluation.logistic import LogisticProblem, PrincipalAxes, probabilities
from dsgrl.evaluation.manifest import manifest_hash
from dsgrl.evaluation.metrics import METRICS
from dsgrl.evaluation.probes import FINE
from dsgrl.evaluation.scaling import Scaling
from dsgrl.train import seeded
from dsgrl.typing import FloatArray, IntArray, Split

ADAM_STEPS, ADAM_RATE = 100, 0.01
# Validation and test score.
Scores = tuple[float, float]
Probe = Callable[[FloatArray, Targets, Split, str], Scores]


def fixed_probe(z: FloatArray, targets: Targets, split: Split, metric: str) -> Scores:
    """Standardise columns; fit one class against the rest with strength 1."""
    scaling = Scaling.of("standard", z[split.train])
    axes = PrincipalAxes.of(scaling(z[split.train]))
    y = targets.values[split.train]
    if targets.num_classes > 2:
        y = np.eye(targets.num_classes, dtype=np.int64)[y]
    problem = LogisticProblem.of(
        axes.coordinates, y, targets.num_classes, several=targets.num_classes > 2
    )
    columns, intercept = axes.to_columns(problem.solve(1.0, None, FINE))
    return _score(
        lambda rows: scaling(z[rows]) @ columns + intercept,
        targets,
        split,
        metric,
        exclusive=False,
    )


def raw_probe(z: FloatArray, targets: Targets, split: Split, metric: str) -> Scores:
    """Fit columns as they are, with strength 1."""
    mean = z[split.train].mean(axis=0)
    problem = LogisticProblem.of(
        z[split.train] - mean,
        targets.values[split.train],
        targets.num_classes,
        several=False,
    )
    weights = problem.solve(1.0, None, FINE)
    return _score(
        lambda rows: (z[rows] - mean) @ weights[:, :-1].T + weights[:, -1],
        targets,
        split,
        metric,
        exclusive=problem.exclusive,
    )


def adam_probe(z: FloatArray, targets: Targets, split: Split, metric: str) -> Scores:
    """Take a hundred steps on columns as they are; validation chooses the step."""
    score = METRICS[metric]
    rows = {name: torch.from_numpy(z[part]) for name, part in split._asdict().items()}
    truth = {name: targets.values[part] for name, part in split._asdict().items()}
    y = torch.from_numpy(truth["train"])
    best = (-1.0, 0.0)
    with seeded(0), torch.enable_grad():
        model = nn.Linear(z.shape[1], targets.num_classes)
        nn.init.xavier_uniform_(model.weight)
        nn.init.zeros_(model.bias)
        optimizer = torch.optim.Adam(model.parameters(), ADAM_RATE)
        for _ in range(ADAM_STEPS):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(rows["train"]), y)
            loss.backward()
            optimizer.step()
            reached = score(_chances(model, rows["val"]), truth["val"])
            if reached > best[0]:
                best = (reached, score(_chances(model, rows["test"]), truth["test"]))
    return best


@torch.no_grad()
def _chances(model: nn.Module, rows: torch.Tensor) -> Any:
    return model(rows).softmax(dim=1).numpy()


def _score(
    logits: Callable[[IntArray], Any],
    targets: Targets,
    split: Split,
    metric: str,
    *,
    exclusive: bool,
) -> Scores:
    def of(rows: IntArray) -> float:
        chance = probabilities(logits(rows), exclusive=exclusive)
        if chance.shape[1] == 1:
            chance = np.hstack([1 - chance, chance])
        return METRICS[metric](chance, targets.values[rows])

    return of(split.val), of(split.test)


@dataclass(frozen=True, kw_only=True, slots=True)
class Judge:
    """A way to judge.

    Attributes:
        probe: what is fitted; ours if None.
        protocol: another one than the column's.
        shuffled: hold the rows, shuffled, against splits meant for rows in order.
        num_splits: how many of the splits.
        peek: let the rows that are judged choose.
    """

    probe: Probe | None = None
    protocol: str | None = None
    shuffled: bool = False
    num_splits: int | None = None
    peek: bool = False

    def score(
        self,
        z: FloatArray,
        y: IntArray,
        splits: Sequence[Split],
        protocol: str,
        metric: str,
    ) -> dict[str, Any]:
        """Judge an embedding; return the fields of a result line."""
        splits = splits[: self.num_splits]
        if self.shuffled:
            order = np.random.default_rng(0).permutation(len(y))
            z, y = z[order], y[order]
        if self.peek:
            splits = [split._replace(val=split.test) for split in splits]
        if self.probe is None:
            score = evaluate(z, y, splits=splits, protocol=protocol, metric=metric)
            found = [*zip(score.validation, score.scores, strict=True)]
        else:
            targets = encode_labels(y)
            found = [self.probe(z, targets, split, metric) for split in splits]
        tests = [test for _, test in found]
        return {
            "mean": round(statistics.fmean(tests), 4),
            "std": round(statistics.pstdev(tests), 4),
            "n": len(tests),
            "scores": [round(test, 4) for test in tests],
            "val_mean": round(statistics.fmean(val for val, _ in found), 4),
            "splits": manifest_hash(splits, protocol),
        }


JUDGES: dict[str, Judge] = {
    "ours": Judge(),
    "strength 1": Judge(probe=fixed_probe),
    "raw columns": Judge(probe=raw_probe),
    "100 steps": Judge(probe=adam_probe),
    "first split": Judge(num_splits=1),
    "balanced": Judge(protocol="balanced"),
    "shuffled rows": Judge(shuffled=True),
    "judged rows choose": Judge(probe=adam_probe, peek=True),
    "graph program": Judge(probe=fixed_probe, shuffled=True),
    "node program": Judge(probe=adam_probe, protocol="balanced", num_splits=1),
}
