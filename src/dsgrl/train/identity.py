"""What a training run is of: method, parameters, seed and data."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from torch import Tensor, nn

from dsgrl.graph import Adjacency, Graph
from dsgrl.graph.flat import FlatGraphs
from dsgrl.graph.inputs import level_of
from dsgrl.methods.config import FitConfig

# They do not change what is computed; the seed is compared by itself.
LEFT_OUT = ("device", "verbose", "random_state")


@dataclass(frozen=True, slots=True)
class Identity:
    """What two runs have in common if one can go on where the other stopped.

    Attributes:
        method: its name in `METHODS`.
        parameters: by name, with every "auto" replaced.
        seed: of the random numbers.
        data: hashes of the edges, the features, the ids and, if the method sees them,
            the labels.
    """

    method: str
    parameters: dict[str, Any]
    seed: int
    data: dict[str, str]

    @classmethod
    def of(
        cls, method: str, config: FitConfig, seed: int, graph: Graph, data: Any
    ) -> "Identity":
        """Describe a run.

        Args:
            method: its name.
            config: the parameters with every "auto" replaced.
            seed: of the random numbers.
            graph: the data as it was read, not yet scaled.
            data: the data as it was given, with the ids.
        """
        flat = {k: _plain(v) for k, v in config.flat().items() if k not in LEFT_OUT}
        # As JSON gives it back: a tuple is a list there.
        return cls(method, json.loads(json.dumps(flat)), seed, fingerprint(graph, data))

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Identity":
        """Read the result of `to_json`; other entries are left out."""
        return cls(*(found[each.name] for each in fields(cls)))

    def parts(self) -> dict[str, str]:
        """Return the text or the hash of each part, by name."""
        parameters = json.dumps(self.parameters, sort_keys=True)
        parts = {"method": self.method, "seed": str(self.seed)}
        return {**parts, "parameters": parameters, **self.data}

    def difference(self, other: "Identity") -> str | None:
        """Say how another run differs from this one; None if it does not.

        Args:
            other: the run to go on with.
        """
        if other.method != self.method:
            return f"method '{self.method}', here '{other.method}'"
        for part in dict.fromkeys([*self.data, *other.data]):
            if self.data.get(part) != other.data.get(part):
                return f"other data: its {part} differ"
        if other.seed != self.seed:
            return f"seed {self.seed}, here {other.seed}"
        names = dict.fromkeys([*self.parameters, *other.parameters])
        changed = [
            name
            for name in names
            if self.parameters.get(name) != other.parameters.get(name)
        ]
        if not changed:
            return None
        there, here = (
            ", ".join(f"{name}={run.parameters.get(name)!r}" for name in changed[:3])
            for run in (self, other)
        )
        return f"{there}, here {here}"


def fingerprint(graph: Graph, data: Any) -> dict[str, str]:
    """Return hashes of the edges, features, ids and labels of the data."""
    found = {"edges": _hash(_edges_of(graph)), "features": _hash(_features_of(graph))}
    found["ids"] = _hash(map(repr, _ids_of(data)))
    if graph.labels is not None:
        found["labels"] = _hash([graph.labels])
    return found


def _edges_of(graph: Graph) -> Iterator[Any]:
    yield repr(getattr(graph.adjacency, "schema", None))
    yield graph.num_nodes
    if graph.ptr is not None:
        yield graph.ptr
    for part, _, _ in graph.adjacency.parts():
        yield from _matrix(part)
        if part.attr is not None:
            yield part.attr


def _features_of(graph: Graph) -> Iterator[Any]:
    tables = graph.x if isinstance(graph.x, tuple) else (graph.x,)
    for table, info in zip(tables, graph.tables, strict=True):
        yield info.names
        if info.made:
            # They follow from the edges, but not to the last bit: another number of
            # threads adds in another order.
            yield "made"
        elif isinstance(table, Adjacency):
            yield from _matrix(table)
        else:
            yield table


def _matrix(matrix: Adjacency) -> Iterator[Any]:
    yield repr(matrix.shape)
    yield matrix.pattern.rowptr
    yield matrix.pattern.col
    yield matrix.value


def _ids_of(data: Any) -> Iterator[list[Any]]:
    """Return the ids that the data has, of nodes and of graphs."""
    if isinstance(data, FlatGraphs):
        yield _listed(data.graph_ids)
        yield _listed(data.node_ids)
        return
    level = level_of(data)
    if level == "graph":
        for graph in data:
            yield [getattr(graph, "id", None)]
            yield _listed(getattr(graph, "ids", None))
    elif level == "hetero":
        for kind in data.node_types:
            yield _listed(getattr(data[kind], "ids", None))
    else:
        yield _listed(getattr(data, "ids", None))


def _listed(ids: Any) -> list[Any]:
    if ids is None:
        return []
    return ids.tolist() if hasattr(ids, "tolist") else list(ids)


def _hash(parts: Any) -> str:
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Tensor):
            array = np.ascontiguousarray(part.detach().cpu().numpy())
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(array.reshape(-1).view(np.uint8).data)
        else:
            digest.update(f"{part};".encode())
    return digest.hexdigest()[:32]


def _plain(value: Any) -> Any:
    """Turn NumPy numbers into Python's, and a module into its name and shapes."""
    if isinstance(value, nn.Module):
        shapes = [(name, list(v.shape)) for name, v in value.state_dict().items()]
        return f"{type(value).__name__} {_hash([shapes])[:8]}"
    return value.item() if isinstance(value, np.generic) else value
