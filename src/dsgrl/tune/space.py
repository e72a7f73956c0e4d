"""How a study varies what a system says may be varied."""

from optuna.trial import Trial

from dsgrl.parameters import Range


def draw(trial: Trial, name: str, span: Range) -> float:
    """Let a trial draw from a range; whole numbers where both ends are."""
    low, high, scale = span
    if isinstance(low, int) and isinstance(high, int):
        return trial.suggest_int(name, low, high, log=scale == "log")
    return trial.suggest_float(name, low, high, log=scale == "log")
