"""Score a baseline by our probe and by the classifier of its authors' program.

    python scripts/fidelity_probes.py cca-ssg citeseer --seeds 0 1 2

Appends one line per seed to results/fidelity_probes.jsonl, which scripts/fidelity.py
shows.
"""

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl.bench.cells import Cell, git_revision
from dsgrl.bench.lines import Line, append_line
from dsgrl.bench.suites import make_request
from dsgrl.bench.systems import SYSTEMS, labels_of, masks_of, unlabelled
from dsgrl.datasets.table import DATASETS, load_dataset
from dsgrl.evaluation import evaluate, protocol_splits
from dsgrl.typing import FloatArray, IntArray, Split

RESULTS = Path(__file__).parent.parent / "results" / "fidelity_probes.jsonl"
PROTOCOL, RECIPE = "public", "published"


@dataclass(frozen=True, slots=True)
class Classifier:
    """A linear layer trained by Adam.

    Attributes:
        lr: learning rate.
        weight_decay: of Adam.
        epochs: steps on all training rows.
    """

    lr: float
    weight_decay: float
    epochs: int


class Outcome(NamedTuple):
    """Scores of the trained layer, in percent.

    Attributes:
        epoch: the first one with the highest validation score.
        stopped: test score at that epoch.
        highest: highest test score at the epochs whose validation score was the
            highest so far. Test labels take part in this choice.
    """

    epoch: int
    stopped: float
    highest: float


# The options of main.py in the README of https://github.com/hengruizhang98/CCA-SSG.
CLASSIFIERS = {
    ("cca-ssg", "cora"): Classifier(lr=1e-2, weight_decay=1e-4, epochs=2000),
    ("cca-ssg", "citeseer"): Classifier(lr=1e-2, weight_decay=1e-2, epochs=2000),
}


def train_classifier(
    z: FloatArray, y: IntArray, split: Split, classifier: Classifier, seed: int
) -> Outcome:
    """Train the layer on the training rows and look at every epoch.

    Args:
        z: embeddings [N, D].
        y: class of every row [N].
        split: training, validation and test rows.
        classifier: how to train.
        seed: of the first weights.
    """
    rows, classes = torch.as_tensor(z), torch.as_tensor(y)
    torch.manual_seed(seed)
    layer = nn.Linear(rows.size(1), int(classes.max()) + 1)
    optimizer = torch.optim.Adam(
        layer.parameters(), classifier.lr, weight_decay=classifier.weight_decay
    )
    best, found = -1.0, Outcome(0, 0.0, 0.0)
    for epoch in range(classifier.epochs):
        optimizer.zero_grad()
        F.cross_entropy(layer(rows[split.train]), classes[split.train]).backward()
        optimizer.step()
        with torch.no_grad():
            hit = layer(rows).argmax(dim=1) == classes
        val, test = _percent(hit[split.val]), _percent(hit[split.test])
        if val > best:
            found = found._replace(epoch=epoch, stopped=test)
        if val >= best:
            best = val
            found = found._replace(highest=max(found.highest, test))
    return found


def _percent(hit: Tensor) -> float:
    return 100 * hit.double().mean().item()


def measure(method: str, dataset: str, seed: int) -> Line:
    """Train the method with its published setting and score it in both ways."""
    request = make_request("nodes", [dataset], [method], RECIPE, {}, PROTOCOL, None)
    cell: Cell = request.plan(dataset, method, seed)
    system, data = SYSTEMS[method], load_dataset(dataset)
    config = system.restore(cell.config, DATASETS[dataset].level)
    z = system.embed(unlabelled(data), config, None).z
    y, masks = labels_of(data, None), masks_of(data, None)
    (split,) = protocol_splits(PROTOCOL, y, masks=masks, dataset=dataset)
    ours = evaluate(z, y, splits=[split], protocol=PROTOCOL, metric="accuracy")
    classifier = CLASSIFIERS[method, dataset]
    outcome = train_classifier(z, y, split, classifier, seed)
    return {
        "suite": "fidelity-probes",
        "dataset": dataset,
        "method": method,
        "protocol": PROTOCOL,
        "recipe": RECIPE,
        "seed": seed,
        "ours": round(ours.mean, 4),
        "epoch": outcome.epoch,
        "stopped": round(outcome.stopped, 4),
        "highest": round(outcome.highest, 4),
        "classifier": asdict(classifier),
        "git": git_revision(),
    }


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method")
    parser.add_argument("dataset")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    for seed in given.seeds:
        append_line(given.results, measure(given.method, given.dataset, seed))


if __name__ == "__main__":
    main()
