"""The model folder: weights, configuration, history and a card, no pickle."""

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from dsgrl.io.atomic import atomic_write
from dsgrl.io.summary import Understood
from dsgrl.train.state_file import save_tensors
from dsgrl.typing import InputError

FORMAT = 4
WEIGHTS, CONFIG, HISTORY, CARD = (
    "model.safetensors",
    "config.json",
    "history.csv",
    "README.md",
)


class SavedModel(NamedTuple):
    """Contents of a model folder."""

    config: dict[str, Any]
    state: dict[str, Tensor]
    history: list[dict[str, float]]


def save_model(path: Path, model: SavedModel) -> None:
    """Write a model folder; an existing one is replaced once writing succeeds.

    Raises:
        InputError: if `path` holds something else, or cannot be written.
    """
    check_model_path(path)
    config = {"format": FORMAT, **model.config}
    with atomic_write(path) as part:
        part.mkdir()
        state = {k: v.detach().cpu().contiguous() for k, v in model.state.items()}
        save_tensors(part / WEIGHTS, state)
        (part / CONFIG).write_text(json.dumps(config, indent=2, default=_plain) + "\n")
        (part / CARD).write_text(_describe(config))
        with (part / HISTORY).open("w", newline="") as file:
            columns = dict.fromkeys(k for row in model.history for k in row)
            writer = csv.DictWriter(file, fieldnames=list(columns))
            writer.writeheader()
            writer.writerows(model.history)


def check_model_path(path: Path) -> None:
    """Refuse to write a model over something that is not one."""
    if not path.name:
        raise InputError(f"{path}: expected the name of a folder for the model")
    if path.is_file():
        raise InputError(f"{path}: is a file, expected a folder for the model")
    known = {WEIGHTS, CONFIG, HISTORY, CARD}
    if path.is_dir() and {file.name for file in path.iterdir()} - known:
        raise InputError(
            f"{path}: holds other files; expected a new or empty folder, or nothing "
            f"but a saved model to replace"
        )


def load_model(path: Path) -> SavedModel:
    """Read a model folder.

    Raises:
        InputError: if it is missing, broken or written by a newer version.
    """
    if not (path / CONFIG).is_file():
        raise InputError(
            f"{path}: no saved model here (expected {CONFIG} and {WEIGHTS})"
        )
    try:
        config = json.loads((path / CONFIG).read_text())
        found = config["format"]
        if found > FORMAT:
            raise InputError(
                f"{path}: written by a newer dsgrl (format {found}, this one reads "
                f"up to {FORMAT}): upgrade dsgrl"
            )
        if found < FORMAT:
            raise InputError(
                f"{path}: written by an older dsgrl (format {found}, this one reads "
                f"{FORMAT}): train and save it again"
            )
        state = load_file(path / WEIGHTS)
        history = _read_history(path / HISTORY)
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{path}: the saved model is broken ({reason}): save it again"
        ) from error
    return SavedModel(config, state, history)


def split_state(
    state: dict[str, Tensor],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Separate the scales of the columns from the weights of the method."""
    named = {
        prefix: {
            key.removeprefix(prefix): value
            for key, value in state.items()
            if key.startswith(prefix)
        }
        for prefix in ("scale.", "method.")
    }
    return named["scale."], named["method."]


def _read_history(path: Path) -> list[dict[str, float]]:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [{k: float(v) for k, v in row.items() if v != ""} for row in rows]


def _plain(value: Any) -> Any:
    """Turn a NumPy number into a Python number."""
    return value.item()


def _describe_data(saved: dict[str, Any] | None) -> list[str]:
    """List what was read, assumed and changed."""
    if saved is None:
        return []
    found = Understood(**saved)
    notes = [*found.lines(), *found.assumed, *found.changed]
    return ["## Data", "", *(f"* {note}" for note in notes), "", "## Use", ""]


def _describe(config: dict[str, Any]) -> str:
    """Write the model card: what this is and how to use it."""
    given = config["input"]
    what = "Graph" if given["level"] == "graph" else "Node"
    types = ", ".join((given["schema"] or {}).get("types", []))
    columns = sum(known["count"] for known in given["columns"])
    chosen, parameters = config["chosen"], config["parameters"]
    rows = [
        f"| {name} | {value}{f': {chosen[name]}' if name in chosen else ''} |"
        for name, value in parameters.items()
    ]
    rows += [f"| {k} | {v} |" for k, v in chosen.items() if k not in parameters]
    lines = [
        f"# {what} embeddings learned with dsgrl",
        "",
        f"Method {config['method']}, trained by dsgrl {config['version']} on "
        f"{given['num_nodes']} nodes{f' of the types {types}' if types else ''} with "
        f"{columns} feature columns, without labels; the model of epoch "
        f"{config['epoch']} was kept (seed {config['seed']}).",
        "",
        *_describe_data(config.get("data")),
        "```python",
        "from dsgrl import load_model, read_graph",
        'model = load_model("path/to/this/folder")',
        'data = read_graph("edges.csv", "nodes.csv", like=model)  # the same columns',
        "z = model.transform(data)  # seen or unseen",
        "```",
        "",
        'The value after "auto" is the one that was chosen.',
        "",
        "| parameter | value |",
        "|---|---|",
        *rows,
        "",
        f"`{WEIGHTS}` has the weights, `{CONFIG}` what is needed to rebuild the "
        f"model, `{HISTORY}` the history of training.",
    ]
    return "\n".join(lines) + "\n"
