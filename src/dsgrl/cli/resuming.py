"""Options and messages of commands that can be stopped and resumed."""

import logging
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsgrl.typing import InputError, LostProcessError

if TYPE_CHECKING:
    # Loads torch.
    from dsgrl.train.checkpoint import Checkpoints

logger = logging.getLogger(__name__)

# Its options are not known to the processes.
AGAIN = "the same torchrun command and --resume"

CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        help="Folder to save training to: what was killed or stopped goes on from "
        "there with --resume. The last two checkpoints are kept.",
    ),
]
EveryOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Epochs between two checkpoints (default: by time, at least 10 seconds "
        "apart).",
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on from the newest checkpoint in the folder of --checkpoint; if "
        "there is none, start from the beginning with a notice.",
    ),
]


def make_checkpoints(
    folder: Path | None, every: int | None, resume: bool, *outputs: Path | None
) -> "Checkpoints | None":
    """Return where to save training, if anywhere.

    Args:
        folder: of the checkpoints.
        every: epochs between two of them.
        resume: whether to go on from there.
        outputs: folders that are replaced in the end.

    Raises:
        InputError: if the options do not go together.
    """
    from dsgrl.train.checkpoint import Checkpoints
    from dsgrl.train.distributed import current_ranks

    if folder is None:
        for name, value in (("--every", every), ("--resume", resume)):
            if value:
                raise InputError(f"{name}: needs --checkpoint, the folder to use")
        return None
    for output in outputs:
        place = folder.resolve()
        if output is not None and output.resolve() in (place, *place.parents):
            raise InputError(f"{folder}: lies inside {output}, expected another place")
    made = Checkpoints(folder, every=every, resume=resume, handle_signals=True)
    current_ranks().on_first(made.check)
    return made


@contextmanager
def stoppable(checkpoints: "Checkpoints | None") -> Iterator[None]:
    """Exit with 130 at SIGINT and 143 at SIGTERM, and say how to go on."""
    if checkpoints is None:
        yield
        return
    from dsgrl.train.checkpoint import list_checkpoints
    from dsgrl.train.checkpoint import logger as notices
    from dsgrl.train.distributed import current_ranks
    from dsgrl.train.interrupt import Interrupted, immediate_signals

    level = notices.level
    # Also the line that says where training goes on.
    notices.setLevel(logging.INFO)
    try:
        with immediate_signals():
            yield
    except KeyboardInterrupt as stopped:
        number, message = int(signal.SIGINT), "stopped"
        if isinstance(stopped, Interrupted):
            number, message = stopped.signal_number, str(stopped)
        if list_checkpoints(Path(checkpoints.folder)):
            words = [word for word in sys.argv[1:] if word != "--resume"]
            command = f"dsgrl {shlex.join([*words, '--resume'])}"
            if current_ranks().count > 1:
                command = AGAIN
            message += f": go on with {command}"
        logger.warning("%s", message)
        raise typer.Exit(128 + number) from None
    except LostProcessError as error:
        if list_checkpoints(Path(checkpoints.folder)):
            raise LostProcessError(f"{error}: go on with {AGAIN}") from error
        raise
    finally:
        notices.setLevel(level)
