"""A trained method with its parameters: embeds, predicts, saves and loads."""

import hashlib
import importlib.metadata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dsgrl.graph import Graph
from dsgrl.graph.prepare import Preparation
from dsgrl.methods import METHODS, FitConfig, Method, configure
from dsgrl.ranks import ALONE, Ranks
from dsgrl.train.batches import embed_all
from dsgrl.train.device import pick_device
from dsgrl.train.folder import SavedModel, load_model, save_model, split_state
from dsgrl.train.loop import History
from dsgrl.typing import FloatArray, InputError

Embeddings = FloatArray | dict[str, FloatArray]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """A trained method, with the parameters and the seed it was trained with.

    Attributes:
        name: of the method in `METHODS`.
        method: the trained module, in evaluation mode.
        preparation: scaling and columns of the input.
        given: the parameters as they were given.
        config: the parameters with every "auto" replaced.
        chosen: the values chosen for "auto", by parameter.
        seed: seed of the random numbers, drawn if none was given.
        history: one row per epoch.
        epoch: the epoch that was kept.
        edge_hash: of the training graph, for a method that embeds no other.
        understood: summary of the files that were read, see `dsgrl.io.summary`.
    """

    name: str
    method: Method
    preparation: Preparation
    given: FitConfig
    config: FitConfig
    chosen: dict[str, Any]
    seed: int
    history: History
    epoch: int
    edge_hash: str | None = None
    understood: dict[str, Any] | None = None

    @property
    def device(self) -> torch.device:
        """Device of the method."""
        tensors = [*self.method.parameters(), *self.method.buffers()]
        return tensors[0].device if tensors else torch.device("cpu")

    def prepare(self, data: Any) -> Graph:
        """Check that data has the columns of training, and scale them.

        Raises:
            InputError: if columns differ, or the method cannot embed other data.
        """
        graph = self.preparation.apply(data)
        if not self.method.inductive and edge_hash(graph) != self.edge_hash:
            raise InputError(
                f"method '{self.name}' has vectors of its training graph only, this is "
                f"another graph: fit it to this one"
            )
        return self.method.prepare(graph.to(self.device))

    def embed(self, data: Any) -> Embeddings:
        """Embed data of the same columns, seen or unseen.

        Returns:
            One vector per node [N, d]; per graph [B, d] for many graphs; per node
            type {type: [N_type, d]} for several types.
        """
        return self.embed_graph(self.prepare(data))

    def embed_graph(self, graph: Graph, ranks: Ranks = ALONE) -> Embeddings:
        """Embed a prepared graph.

        Args:
            graph: as `prepare` returned it.
            ranks: processes that share the work, if there are many graphs.
        """
        return self._per_type(graph, embed_all(self.method, graph, ranks))

    @torch.no_grad()
    def predict(self, data: Any) -> Embeddings:
        """Return class probabilities, in the form of `embed`."""
        graph = self.prepare(data)
        return self._per_type(graph, self.method.predict(graph))

    def _per_type(self, graph: Graph, rows: Tensor) -> Embeddings:
        schema = self.preparation.schema
        if schema is None:
            return rows.cpu().numpy()
        parts = zip(schema.types, graph.split(rows), strict=True)
        return {kind: part.cpu().numpy() for kind, part in parts}

    def save(self, path: Path) -> None:
        """Write a model folder: safetensors, config.json, history.csv and a card."""
        state = self.method.state_dict(prefix="method.")
        scales = self.preparation.tensors()
        state.update({f"scale.{name}": value for name, value in scales.items()})
        config = {
            "version": importlib.metadata.version("dsgrl"),
            "method": self.name,
            "parameters": _plain(self.given.flat()),
            "chosen": _plain(self.chosen),
            "resolved": _plain(self.config.flat()),
            "seed": self.seed,
            "epoch": self.epoch,
            "edge_hash": self.edge_hash,
            "input": self.preparation.to_json(),
            "data": self.understood,
        }
        save_model(path, SavedModel(config, state, self.history))

    @classmethod
    def load(
        cls, path: Path, *, encoder: nn.Module | None = None, device: str = "auto"
    ) -> "Fitted":
        """Read a model folder.

        Args:
            path: the folder.
            encoder: a module like the one the model was trained with, if that was
                the user's own.
            device: device to run on, independent of the device of training.
        """
        saved = load_model(path)
        try:
            found = saved.config
            name = found["method"]
            scales, state = split_state(saved.state)
            preparation = Preparation.from_json(found["input"], scales)
            own = _own_encoder(path, found["parameters"], encoder) | {"device": device}
            given = configure(name, {**found["parameters"], **own}, preparation.spec)
            config = configure(name, {**found["resolved"], **own}, preparation.spec)
            method = METHODS[name].build(config, preparation.spec)
            method.load_state_dict(state)
            seed, epoch, chosen = (found[key] for key in ("seed", "epoch", "chosen"))
        except InputError:
            raise
        except (KeyError, TypeError, RuntimeError, AttributeError, ValueError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise InputError(
                f"{path}: the saved model is broken ({reason}): save it again"
            ) from error
        return cls(
            name=name,
            method=method.to(pick_device(device)).eval(),
            preparation=preparation,
            given=given,
            config=config,
            chosen=chosen,
            seed=seed,
            history=saved.history,
            epoch=epoch,
            edge_hash=found["edge_hash"],
            understood=found.get("data"),
        )


def edge_hash(graph: Graph) -> str:
    """Return a short hash of the edges of a graph."""
    digest = hashlib.sha256(str(graph.num_nodes).encode())
    for part, _, _ in graph.adjacency.parts():
        digest.update(part.edge_index.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _own_encoder(
    path: Path, parameters: dict[str, Any], encoder: nn.Module | None
) -> dict[str, Any]:
    named = str(parameters.get("encoder", ""))
    if not named.startswith("module:"):
        return {}
    if encoder is None:
        raise InputError(
            f"{path}: trained with your own encoder {named[7:]}: pass "
            f"load(path, encoder=...)"
        )
    return {"encoder": encoder}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Replace modules by their names, since JSON cannot hold them."""
    return {
        name: f"module:{type(value).__name__}"
        if isinstance(value, nn.Module)
        else value
        for name, value in values.items()
    }
