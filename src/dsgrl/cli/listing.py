"""The command that lists what is known by name."""

from typing import get_args

from dsgrl.cli.options import DataOption, console
from dsgrl.typing import EncoderName

_COUNTS = ("graphs", "nodes", "edges", "columns", "classes")
_LINE = "{:13} {:6} {:>6} {:>7} {:>11} {:>7} {:>7}"


def list_names(data: DataOption = None) -> None:
    """Show the datasets, methods, recipes and encoders known by name."""
    from dsgrl.bench.recipes import list_families
    from dsgrl.bench.systems import SYSTEMS
    from dsgrl.datasets.table import DATASETS, data_folder

    # Plain lines: a terminal that is too narrow folds them, none is cut.
    console.print(_LINE.format("dataset", "level", *_COUNTS))
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
        console.print(f"{line}  {note}")
    console.print(f"data folder: {data or data_folder()}")
    console.print(f"methods: {', '.join(SYSTEMS)}")
    console.print(f"recipes: {', '.join(list_families())}")
    console.print(f"encoders: {', '.join(get_args(EncoderName))}")
