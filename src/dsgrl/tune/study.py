"""The storage of a study: a file, or any storage that Optuna supports."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from dsgrl.io.atomic import check_writable
from dsgrl.typing import InputError

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)
# No trial is pruned before this many are finished.
LEAST_FOR_MEDIAN = 5


def open_study(
    name: str, storage: str | Path | None, setup: dict[str, Any]
) -> optuna.Study:
    """Create a study, or resume one with the same setup."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    where: str | BaseStorage = str(storage or Path("tune") / f"{name}.journal")
    shown = where
    try:
        if "://" not in str(where):
            path = Path(str(where)).resolve()
            check_writable(path.parent)
            where = JournalStorage(JournalFileBackend(str(path)))
        study = optuna.create_study(
            study_name=name,
            storage=where,
            direction="maximize",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(LEAST_FOR_MEDIAN),
        )
        if "setup" not in study.user_attrs:
            study.set_user_attr("setup", setup)
        known = study.user_attrs["setup"]
    except InputError:
        raise
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"--storage {shown}: cannot be used ({reason}), expected a file of an "
            f"earlier study, a new file, or a URL of a storage that Optuna supports"
        ) from error
    # As JSON: a storage turns tuples into lists.
    different = [
        key
        for key, value in setup.items()
        if json.dumps(known.get(key)) != json.dumps(value)
    ]
    if different:
        raise InputError(
            f"study '{name}' in {shown} was made with another {', '.join(different)}: "
            f"choose another name with --study"
        )
    return study


def count(study: optuna.Study, *states: TrialState) -> int:
    """Count the trials in some states."""
    return len(study.get_trials(deepcopy=False, states=states))


def worker() -> str:
    """Return the name of this process in a shared study."""
    return f"{socket.gethostname()}:{os.getpid()}"


def drop_abandoned(study: optuna.Study) -> None:
    """Mark trials as failed whose process, on this machine, has ended."""
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        host, _, process = trial.user_attrs.get("worker", ":").rpartition(":")
        if host == socket.gethostname() and not _is_alive(int(process)):
            study.tell(trial.number, state=TrialState.FAIL)


def _is_alive(process: int) -> bool:
    # On Windows `os.kill` would end the process.
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
