"""Fill "what the recorded runs say" in docs/howto/choose-a-method.md: `make readme`."""

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dsgrl.bench.lines import Line, is_score, read_lines
from dsgrl.bench.systems import SYSTEMS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "howto" / "choose-a-method.md"
RECIPES = ("default", "published")
TITLES = {"cora": "Cora", "citeseer": "CiteSeer"}
WALKS = ("node2vec", "metapath2vec", "herec", "esim")

# Score by dataset and method.
Table = dict[str, dict[str, float]]


def read(*names: str) -> list[Line]:
    """Read result lines by the names of their files."""
    paths = [ROOT / "results" / f"{name}.jsonl" for name in names]
    return read_lines([path for path in paths if path.exists()])


def tabulate(lines: Iterable[Line], protocol: str, metric: str = "accuracy") -> Table:
    """Return the mean score of every method with its default or published setting."""
    table: Table = {}
    for line in lines:
        if (
            is_score(line)
            and (line["protocol"], line["metric"]) == (protocol, metric)
            and line["recipe"] in RECIPES
            and line["seed"] == 0
        ):
            table.setdefault(line["dataset"], {})[line["method"]] = line["mean"]
    return table


def compare_with_floor(table: Table, floor: str) -> str:
    """Say how the default compares with what needs no training."""
    gains = [
        row["dsgrl"] - row[floor]
        for row in table.values()
        if {"dsgrl", floor} <= {*row}
    ]
    ahead = sum(gain > 0 for gain in gains)
    return (
        f"`dsgrl` is ahead of `{floor}`, which needs no training, on {ahead} of "
        f"{len(gains)} sets, by {statistics.fmean(gains):.1f} points on average "
        f"({min(gains):+.1f} to {max(gains):+.1f})"
    )


def compare_with_baselines(table: Table, floor: str) -> str:
    """Say what the best trained baseline reaches beside what needs no training."""
    parts = []
    for dataset, row in table.items():
        trained = {name: score for name, score in row.items() if is_baseline(name)}
        if floor not in row or not trained:
            continue
        best = max(trained, key=lambda name: trained[name])
        title = TITLES.get(dataset, dataset.upper())
        parts.append(
            f"{title} {row[floor]:.1f} and {trained[best]:.1f} "
            f"(`{best}`, best of {len(trained)})"
        )
    return ", ".join(parts)


def is_baseline(name: str) -> bool:
    """Whether a system is a trained baseline, not ours and not untrained."""
    system = SYSTEMS[name]
    return system.is_trained and system.method != "dsgrl" and not system.needs_labels


def describe_types(table: Mapping[str, float]) -> str:
    """Say what is best for films of IMDB."""
    walks = {name: table[name] for name in WALKS if name in table}
    shown = {"dsgrl": "`dsgrl`", "hops": "`hops`", "raw": "the features alone"}
    parts = [f"{title} {table[name]:.1f}" for name, title in shown.items()]
    if walks:
        best = max(walks, key=lambda name: walks[name])
        parts.append(f"walks {walks[best]:.1f} (`{best}`, best of {len(walks)})")
    return ", ".join(parts)


def describe_speed(lines: Sequence[Line]) -> str:
    """Say how long an epoch takes on Photo."""
    seconds = {
        line["method"]: line["seconds_per_epoch"]
        for line in lines
        if line["dataset"] == "photo" and "seconds_per_epoch" in line
    }
    others = {name: seconds[name] for name in seconds if is_baseline(name)}
    # An epoch of walks is many times as long as one of the others.
    others = {name: value for name, value in others.items() if name not in WALKS}
    fast, slow = (
        min(others, key=others.__getitem__),
        max(others, key=others.__getitem__),
    )
    return (
        f"an epoch on Photo takes {seconds['dsgrl']:.1f} s for `dsgrl` and "
        f"{others[fast]:.1f} s (`{fast}`) to {others[slow]:.1f} s (`{slow}`) for "
        f"baselines"
    )


def sentences() -> list[str]:
    """Return the sentences, computed from the recorded lines."""
    nodes, fidelity = read("nodes"), read("fidelity")
    imdb = tabulate(read("hetero"), "imdb-80", "macro_f1")["imdb"]
    public = compare_with_baselines(tabulate(fidelity, "public"), "hops")
    ours = compare_with_floor(tabulate(nodes, "5/15/80"), "hops")
    folds = compare_with_baselines(tabulate(fidelity, "10-fold-svm"), "histograms")
    return [
        f"Nodes with features: {ours}.",
        f"Baselines on nodes: `hops` and the best of them have, on public splits, "
        f"{public}.",
        f"Whole graphs: "
        f"{compare_with_floor(tabulate(read('graphs'), 'folds'), 'histograms')}; "
        f"`histograms` and the best baseline have, with ten folds and a support vector "
        f"machine, {folds}.",
        f"Several types of nodes: on IMDB (80 % of the test films, macro-F1) "
        f"{describe_types(imdb)}.",
        f"Time: {describe_speed(read('method_speed'))} ([Speed](../SPEED.md)).",
    ]


def fill(text: str) -> str:
    """Put the sentences between their marks."""
    block = "\n".join(f"* {sentence}" for sentence in sentences())
    return re.sub(
        r"<!-- choices -->.*?<!-- end choices -->",
        f"<!-- choices -->\n\n{block}\n\n<!-- end choices -->",
        text,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text()))
