"""Checkpoints of training: written between epochs, resumed to the last bit."""

import importlib.metadata
import logging
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsgrl.io.atomic import check_writable, remove_leftovers
from dsgrl.parameters import COUNT, SWITCH, none_or, refuse
from dsgrl.train.distributed import current_ranks
from dsgrl.train.identity import Identity
from dsgrl.train.interrupt import Interrupted, StopRequest, deferred_signals
from dsgrl.train.loop import Training
from dsgrl.train.state_file import DamagedError, StateFile, read_state, write_state
from dsgrl.typing import InputError

logger = logging.getLogger(__name__)

FORMAT = 1
NAME = re.compile(r"epoch-(\d+)\.safetensors")
# Without a number of epochs: seconds between two checkpoints, at least, and how many
# times as long training lasts as writing.
MIN_SECONDS, TRAINING_PER_WRITING = 10.0, 20.0


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Where and how often training is saved, and whether it goes on from there.

    Args:
        folder: holds the checkpoints of one run.
        every: epochs between two checkpoints. None: by time, at least 10 seconds
            apart, and so that writing takes at most a twentieth of the time. The end
            of training is always saved.
        keep: number of checkpoints that are kept.
        resume: go on from the newest checkpoint in the folder; start from the
            beginning if there is none. Without it, a folder that has checkpoints is
            refused.
        handle_signals: save at the end of the running epoch at SIGINT and SIGTERM, then
            raise `Interrupted`, a `KeyboardInterrupt`.
    """

    folder: str | Path
    every: int | None = None
    keep: int = 2
    resume: bool = False
    handle_signals: bool = False

    def check(self) -> None:
        """Refuse values that cannot work, and a folder that another run has used.

        Raises:
            InputError: one line on what is wrong.
        """
        rules = {
            "every": none_or(COUNT),
            "keep": COUNT,
            "resume": SWITCH,
            "handle_signals": SWITCH,
        }
        for name, rule in rules.items():
            if not rule.accepts(getattr(self, name)):
                refuse(name, getattr(self, name), rule.expected)
        folder = Path(self.folder)
        if folder.is_file():
            raise InputError(f"{folder}: is a file, expected a folder for checkpoints")
        if not self.resume and list_checkpoints(folder):
            raise InputError(
                f"{folder}: has checkpoints of an earlier run: resume it (--resume, "
                f"resume=True), or choose another folder"
            )
        check_writable(folder)


def list_checkpoints(folder: Path) -> dict[int, Path]:
    """Return the checkpoints in a folder by epoch, the newest first."""
    names = folder.iterdir() if folder.is_dir() else ()
    matches = ((NAME.fullmatch(path.name), path) for path in names)
    found = {int(match[1]): path for match, path in matches if match}
    return dict(sorted(found.items(), reverse=True))


class Keeper:
    """Writes the checkpoints of one run, and reads the one to go on from.

    Args:
        options: where and how often.

    Attributes:
        found: the checkpoint to go on from, until `start` has used it.

    Raises:
        InputError: if the folder cannot be used.
    """

    def __init__(self, options: Checkpoints) -> None:
        self.options, self.folder = options, Path(options.folder)
        self.ranks = current_ranks()
        self.ranks.on_first(self._prepare_folder)
        self.found: StateFile | None = None
        self.identity: Identity | None = None
        self.request = StopRequest()
        self.has_failed = False
        self.written_at, self.seconds = time.monotonic(), 0.0
        self.saved_epoch: int | None = None
        if options.resume:
            self.found = self._receive_newest()

    def _prepare_folder(self) -> None:
        self.options.check()
        remove_leftovers(self.folder, NAME.pattern)

    @property
    def seed(self) -> int | None:
        """Seed of the run to go on with, if there is one."""
        return None if self.found is None else self.found.header["seed"]

    def start(self, training: Training, identity: Identity) -> None:
        """Go on from the checkpoint found, if there is one.

        Raises:
            InputError: if it is of another run.
        """
        self.identity = identity
        self.written_at = time.monotonic()
        if self.found is None:
            if self.options.resume:
                logger.warning(
                    "no checkpoint in %s: training starts from the beginning",
                    self.folder,
                )
            return
        header, state = self.found
        self.found = None
        self._refuse_other(header, identity)
        try:
            training.load_state_dict(state)
        except (KeyError, TypeError, RuntimeError, ValueError, IndexError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise InputError(
                f"{self.folder}: the checkpoint does not fit this version of dsgrl "
                f"({reason}): choose another folder to start again"
            ) from error
        self.saved_epoch = training.epoch
        logger.info("resumed after epoch %d", training.epoch)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """React to signals inside the block, if that was asked for."""
        with deferred_signals(active=self.options.handle_signals) as self.request:
            yield

    def after_epoch(self, training: Training) -> None:
        """Save what is due; stop if a signal has asked for it.

        Raises:
            Interrupted: after a signal.
        """
        # Of several processes, a signal may have reached some only, and their clocks
        # differ: all of them save and stop together.
        number = self.ranks.largest(self.request.signal_number or 0)
        is_due = self.ranks.from_first(self._is_due(training.epoch))
        if training.is_done or number or is_due:
            self.save(training)
        if number:
            message = f"stopped after epoch {training.epoch}"
            if self.saved_epoch != training.epoch:
                message += ", which could not be saved"
            raise Interrupted(message, number)

    def save(self, training: Training) -> None:
        """Write a checkpoint, then remove the oldest; the first process does it.

        A disk that is full does not stop training: it is a warning.
        """
        assert self.identity is not None
        started = time.monotonic()
        path = self.folder / f"epoch-{training.epoch:08d}.safetensors"
        header = {
            "format": FORMAT,
            "version": importlib.metadata.version("dsgrl"),
            "epoch": training.epoch,
            "processes": self.ranks.count,
            **self.identity.to_json(),
        }
        state = training.state_dict()
        if not self.ranks.is_first:
            self.saved_epoch = training.epoch
            return
        try:
            write_state(path, StateFile(header, state))
        except InputError as error:
            if not self.has_failed:
                logger.warning("%s; training goes on without this checkpoint", error)
            self.has_failed = True
        else:
            self.has_failed, self.saved_epoch = False, training.epoch
            self._remove_old(training.epoch)
        self.written_at = time.monotonic()
        self.seconds = self.written_at - started

    def _is_due(self, epoch: int) -> bool:
        if self.options.every is not None:
            return epoch % self.options.every == 0
        passed = time.monotonic() - self.written_at
        return passed >= max(MIN_SECONDS, TRAINING_PER_WRITING * self.seconds)

    def _remove_old(self, newest: int) -> None:
        """Keep the newest and some before it; later ones were found damaged."""
        found = list_checkpoints(self.folder)
        kept = [epoch for epoch in found if epoch <= newest][: self.options.keep]
        for epoch, path in found.items():
            if epoch not in kept:
                with suppress(OSError):
                    path.unlink()

    def _receive_newest(self) -> StateFile | None:
        """Let the first process read; send the others the file that it has chosen.

        They may be on another machine, which does not have the folder.
        """
        newest = self.ranks.on_first(self._read_newest)
        if self.ranks.count == 1:
            return None if newest is None else newest[1]
        sent = self.ranks.send_bytes(None if newest is None else newest[0].read_bytes())
        if newest is not None or sent is None:
            return None if newest is None else newest[1]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "received"
            path.write_bytes(sent)
            return read_state(path)

    def _read_newest(self) -> tuple[Path, StateFile] | None:
        """Read the newest checkpoint that is not damaged."""
        damaged = []
        for epoch, path in list_checkpoints(self.folder).items():
            try:
                found = read_state(path)
            except DamagedError as error:
                damaged.append(f"{path.name}: {error}")
                continue
            if damaged:
                logger.warning(
                    "%s: damaged (%s): going back to the checkpoint of epoch %d",
                    self.folder,
                    "; ".join(damaged),
                    epoch,
                )
            if found.header.get("format") != FORMAT:
                raise InputError(
                    f"{path}: a checkpoint of format {found.header.get('format')}, "
                    f"this dsgrl reads {FORMAT}: choose another folder to start again"
                )
            return path, found
        if damaged:
            raise InputError(
                f"{self.folder}: every checkpoint is damaged ({'; '.join(damaged)}): "
                f"remove them, or choose another folder, to start again"
            )
        return None

    def _refuse_other(self, header: dict[str, Any], identity: Identity) -> None:
        difference = Identity.from_json(header).difference(identity)
        before, now = header.get("processes", 1), self.ranks.count
        if difference is None and before != now:
            difference = f"number of processes {before}, here {now}"
        if difference is not None:
            raise InputError(
                f"{self.folder}: its checkpoint is of another run ({difference}): run "
                f"it as before, or choose another folder"
            )
