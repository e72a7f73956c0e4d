"""What a baseline declares so that bench and tuning can use it: nothing else is needed.

A parameter that `DSGRL` has, too, means the same and obeys the same rule.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from dsgrl.methods.base import Method
from dsgrl.methods.rules import RULES, SHARE, WEIGHT, Rule, refuse


class Baseline(Method):
    """A method built from plain parameters, without an estimator of its own.

    Attributes:
        defaults: its parameters; those of training only where it departs from the
            loop's own.
        rules: of its parameters that `DSGRL` has not, or that differ from those.
    """

    defaults: ClassVar[Mapping[str, Any]]
    rules: ClassVar[Mapping[str, Rule]] = {}

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse values that cannot work.

        Raises:
            InputError: naming the parameter, the value given and the values allowed.
        """
        rules = {**RULES, "dropout": SHARE, "tolerance": WEIGHT, **cls.rules}
        for name, value in parameters.items():
            if name in rules and not rules[name][0](value):
                refuse(name, value, rules[name][1])

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], in_channels: int) -> Self:
        """Build the method from checked parameters, for features of so many columns."""
        raise NotImplementedError
