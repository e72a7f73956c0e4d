"""What was read of a TU set, kept beside it for the next time."""

import json
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dsgrl.io.atomic import atomic_write
from dsgrl.typing import InputError

Arrays = dict[str, npt.NDArray[Any]]

ARRAYS = (
    "y",
    "node_offsets",
    "edge_offsets",
    "edges",
    "labels",
    "attributes",
    "edge_attr",
)
# Part of the stamp; a new layout of the arrays needs a new number.
LAYOUT = 2


def stamp_of(files: list[Path]) -> str:
    """Describe files, so that changed files are detected."""
    found = [(file.name, file.stat()) for file in files if file.is_file()]
    return json.dumps(
        [LAYOUT, *((name, stat.st_size, stat.st_mtime_ns) for name, stat in found)]
    )


def read_kept(path: Path, stamp: str) -> Arrays | None:
    """Return what is kept of files; None if there is nothing or it is broken."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                return None
        with np.load(path, allow_pickle=False) as file:
            if str(file["stamp"]) != stamp:
                return None
            return {key: file[key] for key in ARRAYS}
    except (OSError, EOFError, ValueError, LookupError, RuntimeError):
        return None
    except (zipfile.BadZipFile, zlib.error):
        return None


def keep(path: Path, stamp: str, arrays: Arrays) -> None:
    """Keep arrays; without write access the next read takes as long."""
    with suppress(InputError), atomic_write(path) as part, part.open("wb") as file:
        np.savez(file, allow_pickle=False, stamp=np.array(stamp), **arrays)
