"""Write docs/SPEED.md and its picture from the lines of `bench speed --methods all`."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from dsgrl.bench.lines import Line, config_hash, config_of, is_score, read_lines
from dsgrl.bench.tables import markdown

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "method_speed.jsonl"
SCORES = [ROOT / "results" / name for name in ("nodes.jsonl", "graphs.jsonl")]
PAGE, PICTURE = ROOT / "docs" / "SPEED.md", ROOT / "docs" / "figures" / "speed.svg"
TITLES = {"photo": "Photo, one graph", "dd": "DD, 1,178 graphs"}
# What is drawn, and the title of its column.
PANELS = {
    "seconds_per_epoch": "seconds per epoch",
    "seconds_to_kept": "seconds to the kept epoch",
    "peak_rss_mb": "peak memory, MB",
}
INTRODUCTION = """# Speed of the methods

Every method with its default setting, each in its own process with {threads}. Recorded
once while other jobs kept the machine busy: seconds are longer than on an idle one, and
only large differences mean something.

<!-- not run: takes minutes -->
```bash
dsgrl bench speed --methods all --results results/method_speed.jsonl
python scripts/method_speed.py
```

![Seconds and memory of every method](figures/speed.svg)

* Set-up: scaling, diffusions, walks; for methods without training the whole fit.
* Seconds per epoch: the median of at most {most} epochs after the first. Looks at
  held-out links are not counted.
* Kept epoch: the number of epochs, or the one that held-out links chose in a recorded
  run of the same setting; empty where there is no such run.
* Seconds to the kept epoch: set-up, and the kept epoch times the seconds of one.
* Peak memory: of the whole process during set-up and the first epoch.
"""


def read() -> tuple[list[Line], list[Line]]:
    """Read the lines of the benchmark, and the result lines."""
    scores = [line for line in read_lines(SCORES) if is_score(line)]
    return read_lines([RESULTS]), scores


def render(lines: Sequence[Line], scores: Sequence[Line]) -> str:
    """Return the page.

    Args:
        lines: those of the benchmark.
        scores: result lines, which know the kept epochs.
    """
    threads = max(line.get("threads", 1) for line in lines)
    most = max(line.get("epochs_measured", 1) for line in lines)
    page = INTRODUCTION.format(
        threads="one thread" if threads == 1 else f"{threads} threads", most=most
    )
    for dataset, rows in complete(lines, scores).items():
        head = ["method", "set-up, s", "s per epoch", "kept epoch"]
        head += ["s to the kept epoch", "peak memory, MB"]
        body = [_cells(row) for row in rows]
        page += f"\n## {TITLES.get(dataset, dataset)}\n\n{markdown(head, body)}\n"
    return page


def complete(
    lines: Sequence[Line], scores: Sequence[Line]
) -> dict[str, list[dict[str, object]]]:
    """Return the rows of every dataset, the fastest epoch first.

    Args:
        lines: those of the benchmark; the last line of a method counts.
        scores: result lines.
    """
    kept = {_fit_of(line): line["epochs"] for line in scores}
    latest = {(line["dataset"], line["method"]): line for line in lines}
    found: dict[str, list[dict[str, object]]] = {}
    for (dataset, _), line in latest.items():
        row = dict(line)
        epoch, seconds = None, line.get("seconds_per_epoch")
        if seconds is not None:
            fixed = line["config"].get("epochs")
            epoch = fixed if isinstance(fixed, int) else kept.get(_fit_of(line))
        row["kept"] = epoch
        row["seconds_to_kept"] = line.get("setup_seconds")
        if seconds is not None:
            whole = line["setup_seconds"] + (epoch or 0) * seconds
            row["seconds_to_kept"] = None if epoch is None else whole
        found.setdefault(dataset, []).append(row)
    for rows in found.values():
        rows.sort(key=lambda row: row.get("seconds_per_epoch") or 0.0)
    return found


def draw(found: Mapping[str, Sequence[Mapping[str, object]]]) -> str:
    """Draw bars, one row per dataset and one column per measure; return the SVG."""
    mpl.rcParams["svg.hashsalt"] = "dsgrl"
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["font.size"] = 8
    heights = [len(rows) for rows in found.values()]
    figure = Figure(figsize=(9, 0.2 * sum(heights) + 1.2), layout="constrained")
    grid = figure.subplots(
        len(found), len(PANELS), squeeze=False, height_ratios=heights
    )
    for (dataset, rows), across in zip(found.items(), grid, strict=True):
        for (name, title), axis in zip(PANELS.items(), across, strict=True):
            shown = list(reversed(rows))
            names = [str(row["method"]) for row in shown]
            values = [float(row.get(name) or 0.0) for row in shown]  # type: ignore[arg-type]
            axis.barh(names, values, color="#4a7ab5")
            if name != "peak_rss_mb" and any(values):
                axis.set_xscale("log")
            axis.set_title(title)
            axis.tick_params(length=2, pad=1)
            if axis is not across[0]:
                axis.set_yticklabels([])
        across[0].set_ylabel(TITLES.get(dataset, dataset))
    picture = io.StringIO()
    figure.savefig(picture, format="svg", metadata={"Date": None})
    return picture.getvalue()


def _fit_of(line: Line) -> tuple[object, ...]:
    return line["dataset"], line["method"], config_hash(config_of(line))


def _cells(row: Mapping[str, object]) -> list[str]:
    if "error" in row:
        return [str(row["method"]), str(row["error"]), "", "", "", ""]
    numbers = [
        (row["setup_seconds"], 1),
        (row.get("seconds_per_epoch"), 2),
        (row["kept"], 0),
        (row["seconds_to_kept"], 0),
        (row["peak_rss_mb"], 0),
    ]
    return [str(row["method"]), *(_show(value, digits) for value, digits in numbers)]


def _show(value: object, digits: int) -> str:
    return "" if value is None else f"{float(value):,.{digits}f}"  # type: ignore[arg-type]


def main() -> None:
    """Write the page and its picture."""
    lines, scores = read()
    PAGE.write_text(render(lines, scores))
    PICTURE.write_text(draw(complete(lines, scores)))


if __name__ == "__main__":
    main()
