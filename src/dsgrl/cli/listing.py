"""The command that lists what is known by name."""

from typing import Any, get_args

from dsgrl.cli.options import DataOption
from dsgrl.cli.output import JsonOption, show
from dsgrl.typing import EncoderName

_COUNTS = ("graphs", "nodes", "edges", "columns", "classes")
_LINE = "{:13} {:6} {:>6} {:>7} {:>11} {:>7} {:>7}"


def list_names(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Show the datasets, methods, recipes and encoders known by name."""
    from dsgrl.bench.recipes import list_families
    from dsgrl.bench.systems import SYSTEMS
    from dsgrl.datasets.table import DATASETS, data_folder

    # Plain lines: a terminal that is too narrow folds them, none is cut.
    lines = [_LINE.format("dataset", "level", *_COUNTS)]
    datasets: dict[str, dict[str, Any]] = {}
    for name, row in DATASETS.items():
        counts = (
            row.num_graphs,
            row.num_nodes,
            row.num_edges,
            row.num_features,
            row.num_classes,
        )
        note = row.summary + (" (built in)" if row.built_in else "")
        line = _LINE.format(name, row.level, *(f"{count:,}" for count in counts))
        lines.append(f"{line}  {note}")
        datasets[name] = {"level": row.level, "is_built_in": row.built_in}
        datasets[name] |= dict(zip(_COUNTS, counts, strict=True))
    named = {
        "methods": list(SYSTEMS),
        "recipes": list(list_families()),
        "encoders": list(get_args(EncoderName)),
    }
    folder = data or data_folder()
    lines.append(f"data folder: {folder}")
    lines += [f"{kind}: {', '.join(names)}" for kind, names in named.items()]
    document = {"datasets": datasets, "data_folder": folder, **named}
    show(document, lines, as_json=as_json)
