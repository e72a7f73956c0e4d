"""The search: draw parameters, train in two stages, score, report to the study."""

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

# A trial is first trained for this share of its epochs. It is pruned if its score is
# then below the median of the earlier trials.
FIRST_STAGE = 0.25
# A prime, so that the samplers of studies with neighbouring seeds differ.
SEED_STEP = 7919
MAX_EPOCHS = "epochs__max_epochs"


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """What is searched; only the criterion sees labels.

    Attributes:
        embed: fits the system with some parameters, on a dataset without labels.
        criterion: what is maximised.
        space: ranges of the searched parameters.
        starts: complete parameters of the first trials, by name. Parameters that are
            not searched have the value of the first start.
    """

    embed: Callable[[Parameters], Embedded]
    criterion: Criterion
    space: dict[str, Range]
    starts: dict[str, Parameters]

    def run(self, study: optuna.Study, trials: int, seed: int) -> Iterator[None]:
        """Run trials until `trials` are finished in total; yield after each."""
        drop_abandoned(study)
        while count(study, *FINISHED) < trials:
            begun = count(study, *FINISHED, TrialState.RUNNING)
            # Depends on the number of started trials: a resumed study must not draw
            # the same parameters again.
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
        """Enqueue the next start, if one is left."""
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
        """Train and score in two stages; a bad first stage ends the trial."""
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
            # Report those inside the space to the sampler.
            for key in self._within_space(start):
                draw(trial, key, self.space[key])
            return dict(start)
        first = next(iter(self.starts.values()))
        drawn = {key: draw(trial, key, span) for key, span in self.space.items()}
        return merge(first, drawn)


def _stages(parameters: Parameters) -> list[Parameters]:
    """Return the parameters of a short fit and of the full one.

    Both draw the same random numbers: the short fit is the start of the full one.
    """
    key = MAX_EPOCHS if parameters["epochs"] == "auto" else "epochs"
    first = max(1, round(FIRST_STAGE * parameters[key]))
    short = {**parameters, key: first}
    return [short, parameters] if first < parameters[key] else [parameters]


def _has_stopped(embedded: Embedded, stage: Parameters) -> bool:
    """Whether the stopping rule ended training: more epochs would change nothing."""
    return bool(stage["epochs"] == "auto" and embedded.epochs_run < stage[MAX_EPOCHS])
