"""What a fit is set up from: checked data and resolved parameters; nothing is built."""

from dataclasses import dataclass, replace
from typing import Any

from dsgrl.graph import Graph, Spec, as_graph
from dsgrl.graph.prepare import Preparation
from dsgrl.methods import METHODS, Method
from dsgrl.methods.config import FitConfig
from dsgrl.typing import InputError, IntArray


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels that a supervised method may see.

    Attributes:
        y: class of every row [N], negative where it is hidden.
        num_classes: number of classes C.
        target: the node type whose rows these are, if there are several.
    """

    y: IntArray
    num_classes: int
    target: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What a fit is set up from: data as a graph, and resolved parameters.

    Attributes:
        name: of the method in `METHODS`.
        raw: the graph as it was read.
        graph: the same, scaled.
        preparation: scaling and columns of the input.
        spec: describes the graph.
        given: the parameters as they were given.
        config: the parameters with every "auto" replaced, except that of `device`.
    """

    name: str
    raw: Graph
    graph: Graph
    preparation: Preparation
    spec: Spec
    given: FitConfig
    config: FitConfig

    @classmethod
    def of(
        cls,
        name: str,
        data: Any,
        config: FitConfig | None = None,
        labels: Labels | None = None,
    ) -> "Setting":
        """Check data and parameters, see `begin`; nothing is built."""
        kind = METHODS[name]
        given = kind.Config() if config is None else config
        given.check()
        raw = as_graph(data, structural_columns=given.structural_columns)
        spec = _describe(name, kind, raw, labels)
        resolved = given.resolved(spec)
        scaling: Any = resolved.scaling
        preparation, graph = Preparation.of(raw, scaling, spec)
        return cls(
            name=name,
            raw=raw,
            graph=graph,
            preparation=preparation,
            spec=spec,
            given=given,
            config=resolved,
        )

    def build(self, config: FitConfig | None = None) -> Method:
        """Build the method, untrained, with these parameters or others."""
        chosen = self.config if config is None else config
        return METHODS[self.name].build(chosen, self.spec)


def _describe(
    name: str, kind: type[Method], graph: Graph, labels: Labels | None
) -> Spec:
    """Describe the data; refuse what the method cannot embed."""
    spec = Spec.of(graph)
    if spec.level not in kind.levels:
        raise InputError(
            f"method '{name}' embeds {' and '.join(sorted(kind.levels))} data, this is "
            f"of level '{spec.level}': choose another method ('dsgrl list')"
        )
    if "edge_attr" in kind.needs and not spec.edge_channels:
        raise InputError(f"method '{name}' needs edge_attr, the data has none")
    if "labels" not in kind.needs:
        return spec
    if labels is None:
        raise InputError(f"method '{name}' learns from labels: give those to train on")
    return replace(spec, num_classes=labels.num_classes, target=labels.target)
