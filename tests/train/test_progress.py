import io
from typing import Any

import pytest
from rich.console import Console

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


def test_progress_bar__is_silent_away_from_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = io.StringIO()
    shown_on(monkeypatch, file)
    with progress_bar(2, {}, shown=True) as report:
        assert report is None
    assert file.getvalue() == ""
