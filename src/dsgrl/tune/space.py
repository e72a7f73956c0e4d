"""Draws the parameters of a trial from the ranges that a system declares."""

from optuna.trial import Trial

from dsgrl.parameters import Range


def draw(trial: Trial, name: str, span: Range) -> float:
    """Draw a value from a range; an integer if both ends are integers."""
    low, high, scale = span
    if isinstance(low, int) and isinstance(high, int):
        return trial.suggest_int(name, low, high, log=scale == "log")
    return trial.suggest_float(name, low, high, log=scale == "log")
