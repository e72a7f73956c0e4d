"""The search itself: draw, train in two stages, judge, tell."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.trial import Trial, TrialState

from dsgrl.bench.recipes import merge
from dsgrl.bench.systems import Embedded
from dsgrl.parameters import Range
from dsgrl.tune.criteria import Criterion
from dsgrl.tune.space import draw
from dsgrl.tune.study import FINISHED, count, drop_abandoned, worker
from dsgrl.typing import DivergenceError

Parameters = dict[str, Any]

# A trial is first trained for this share of its epochs; if it then lies below the
# median of the trials before, it is given up.
FIRST_STAGE = 0.25
# A prime, so that the samplers of studies with neighbouring seeds differ.
SEED_STEP = 7919
MAX_EPOCHS = "epochs__max_epochs"


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """What is searched; sees no label but through its criterion.

    Attributes:
        embed: fits the system with some parameters, on a dataset without labels.
        criterion: what is maximised.
        space: what is varied.
        starts: complete parameters to begin with, by name; what is not varied is as
            in the first of them.
    """

    embed: Callable[[Parameters], Embedded]
    criterion: Criterion
    space: dict[str, Range]
    starts: dict[str, Parameters]

    def run(self, study: optuna.Study, trials: int, seed: int) -> Iterator[None]:
        """Go on until so many trials are finished in all, one at each step."""
        drop_abandoned(study)
        while count(study, *FINISHED) < trials:
            begun = count(study, *FINISHED, TrialState.RUNNING)
            # By the number of trials begun: a study that goes on must not draw again
            # what it has drawn.
            drawn_from = (seed + SEED_STEP * begun) % 2**32
            study.sampler = optuna.samplers.TPESampler(seed=drawn_from)
            self._enqueue_start(study)
            trial = study.ask()
            trial.set_user_attr("worker", worker())
            try:
                value = self._evaluate(trial)
            except (optuna.TrialPruned, DivergenceError) as reason:
                trial.set_user_attr("given_up", str(reason))
                study.tell(trial, state=TrialState.PRUNED)
            except Exception:
                study.tell(trial, state=TrialState.FAIL)
                raise
            else:
                study.tell(trial, value)
            yield

    def _enqueue_start(self, study: optuna.Study) -> None:
        """Let the next trial be a start, if one is left."""
        known = {
            trial.user_attrs.get("start")
            for trial in study.get_trials(deepcopy=False)
            if trial.state != TrialState.FAIL
        }
        for name, start in self.starts.items():
            if name not in known:
                study.enqueue_trial(
                    self._within_space(start), user_attrs={"start": name}
                )
                return

    def _within_space(self, parameters: Parameters) -> Parameters:
        return {
            key: parameters[key]
            for key, (low, high, _) in self.space.items()
            if isinstance(parameters[key], (int, float))
            and low <= parameters[key] <= high
        }

    def _evaluate(self, trial: Trial) -> float:
        """Train and judge, in two stages; a bad first one ends the trial."""
        parameters = self._choose(trial)
        trial.set_user_attr("parameters", parameters)
        value = 0.0
        *early, last = _stages(parameters)
        for stage in [*early, last]:
            embedded = self.embed(stage)
            value = self.criterion(embedded)
            if stage is last:
                break
            trial.report(value, step=0)
            if _has_stopped(embedded, stage):
                break
            if trial.should_prune():
                raise optuna.TrialPruned("below the median after the first stage")
        return value

    def _choose(self, trial: Trial) -> Parameters:
        start = self.starts.get(trial.user_attrs.get("start", ""))
        if start is not None:
            # Told to the sampler as far as they lie in the space.
            for key in self._within_space(start):
                draw(trial, key, self.space[key])
            return dict(start)
        first = next(iter(self.starts.values()))
        drawn = {key: draw(trial, key, span) for key, span in self.space.items()}
        return merge(first, drawn)


def _stages(parameters: Parameters) -> list[Parameters]:
    """Parameters of a short fit and of the whole one.

    Both draw the same random numbers, so the short fit is the beginning of the other.
    """
    key = MAX_EPOCHS if parameters["epochs"] == "auto" else "epochs"
    first = max(1, round(FIRST_STAGE * parameters[key]))
    short = {**parameters, key: first}
    return [short, parameters] if first < parameters[key] else [parameters]


def _has_stopped(embedded: Embedded, stage: Parameters) -> bool:
    """Whether training ended by itself, so that more epochs would change nothing."""
    return bool(stage["epochs"] == "auto" and embedded.epochs_run < stage[MAX_EPOCHS])
