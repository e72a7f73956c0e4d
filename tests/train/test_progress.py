import io
import re
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress

from dsgrl.train import progress
from dsgrl.train.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_on(monkeypatch: pytest.MonkeyPatch, file: Any) -> None:
    def console(**_: Any) -> Console:
        return Console(file=file, force_terminal=file.isatty(), width=120)

    monkeypatch.setattr(progress, "Console", console)


def test_progress_bar__has_the_floor_beside_what_is_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    shown_on(monkeypatch, terminal)
    first = {"epoch": 0.0, "link_auc": 0.61, "floor_auc": 0.88}
    with progress_bar(2, first, shown=True) as report:
        assert report is not None
        report({"epoch": 1.0, "loss": 0.5})
        report({"epoch": 2.0, "loss": 0.4, "link_auc": 0.95})
    assert "loss 0.4 links 0.95 floor 0.88" in terminal.getvalue()


def test_progress_bar__estimates_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(0, 10_000, 10))
    terminal = Terminal()
    monkeypatch.setattr(
        progress,
        "Progress",
        lambda *columns, **options: Progress(
            *columns, **options, get_time=lambda: float(next(clock)), auto_refresh=False
        ),
    )
    shown_on(monkeypatch, terminal)
    with progress_bar(20, {}, shown=True) as report:
        assert report is not None
        for epoch in range(1, 6):
            report({"epoch": float(epoch), "loss": 0.5})
    left = re.findall(r"<(\d+):(\d\d)", terminal.getvalue())
    assert left
    assert 0 < 60 * int(left[-1][0]) + int(left[-1][1]) < 10_000


def test_progress_bar__is_silent_away_from_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = io.StringIO()
    shown_on(monkeypatch, file)
    with progress_bar(2, {}, shown=True) as report:
        assert report is None
    assert file.getvalue() == ""
