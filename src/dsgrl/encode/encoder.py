"""The shared encoder h: layers of one kind, or any PyG-style module."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl.encode.dense import activate, drop
from dsgrl.encode.layers import LAYERS, GraphLayer
from dsgrl.encode.norm import BatchNorm
from dsgrl.encode.relational import RelationalLayer
from dsgrl.graph import Adjacency, Schema
from dsgrl.typing import (
    ActivationName,
    InputError,
    JumpName,
    LayerName,
    NormName,
)

# Mean of the slopes that "rrelu" draws from, which is its slope outside of training.
LEAKY_SLOPE = (1 / 8 + 1 / 3) / 2


class Encoder(nn.Module):
    """A stack of graph layers with an activation and dropout between them.

    Views lie side by side in the middle axis: they share the weights and one pass
    over the edges; a normalisation layer sees each view by itself.

    Args:
        in_channels: width of the input; one width per type if there are several.
        hidden_channels: width between the layers.
        out_channels: width of the result of the last layer.
        num_layers: number of layers.
        layer: "gcn", "sage", "gin" or "gat"; without a schema also a class of layers,
            called as (in_channels, out_channels, bias=...).
        dropout: share dropped between the layers while training.
        norm: normalisation before each activation: None, "batch" or "layer".
        jump: what is returned: the "last" layer's result, the "sum" of all layers'
            results (then hidden and out must agree) or all of them side by side,
            "cat".
        schema: types and relations of a heterogeneous graph, each relation with its
            own weights.
        last_bias: whether the last layer adds a bias. An objective that does not see a
            shift common to all rows gives it no gradient, and Adam would turn rounding
            errors into steps. Layers before a batch norm have none for that reason.
        activation: "relu", "leaky_relu" (slope 11/48 below zero, the mean of "rrelu")
            or "prelu" (a learned slope per layer).
        activate_last: whether the last layer has a normalisation and an activation,
            too.
    """

    def __init__(
        self,
        in_channels: int | Sequence[int],
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        layer: LayerName | Callable[..., GraphLayer] = "gcn",
        dropout: float = 0.0,
        norm: NormName | None = None,
        jump: JumpName = "last",
        schema: Schema | None = None,
        last_bias: bool = True,
        activation: ActivationName = "relu",
        activate_last: bool = False,
    ) -> None:
        super().__init__()
        if jump == "sum" and num_layers > 1 and hidden_channels != out_channels:
            raise ValueError(
                f"jump='sum' adds the layers' results: hidden_channels="
                f"{hidden_channels} must equal out_channels={out_channels}"
            )
        kind: Any = LAYERS[layer] if isinstance(layer, str) else layer
        make: Callable[..., nn.Module] = kind
        if schema is not None:
            assert isinstance(layer, str)
            make = partial(RelationalLayer, schema, layer)
        outputs = [*[hidden_channels] * (num_layers - 1), out_channels]
        activated = num_layers if activate_last else num_layers - 1
        biases = [norm != "batch"] * activated
        biases += [last_bias] * (num_layers - activated)
        inputs = [in_channels, *outputs[:-1]]
        self.layers = nn.ModuleList(
            make(a, b, bias=bias)
            for a, b, bias in zip(inputs, outputs, biases, strict=True)
        )
        kinds = {"batch": BatchNorm, "layer": nn.LayerNorm}
        self.norms = nn.ModuleList(kinds[norm](w) for w in outputs[:activated] if norm)
        self.activations = nn.ModuleList(
            nn.PReLU() if activation == "prelu" else nn.LeakyReLU(LEAKY_SLOPE)
            for _ in range(activated)
            if activation != "relu"
        )
        self.activated = activated
        self.dropout = dropout
        self.jump = jump
        self.in_channels, self.widths = in_channels, outputs
        self.out_channels = sum(outputs) if jump == "cat" else out_channels

    def forward(self, adjacency: Any, x: Any) -> Tensor:
        """Embed every node.

        Args:
            adjacency: the graph, not normalised: an `Adjacency` [N, N], or `Relations`
                if the encoder has a schema.
            x: node features, one or more views [N, ..., in], or sparse ones; also one
                table per node type.

        Returns:
            Embeddings [N, ..., D].
        """
        dropout = self.dropout if self.training else 0.0
        results: list[Tensor] = []
        h, last = x, len(self.layers) - 1
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, GraphLayer | RelationalLayer)
            if number >= self.activated:
                h = layer(adjacency, h)
            elif self.norms or self.activations or number == last:
                h = self._activate(number, layer(adjacency, h), dropout)
            else:
                h = layer.activated(adjacency, h, dropout)
            results.append(h)
        if self.jump == "last":
            return results[-1]
        if self.jump == "cat":
            return torch.cat(results, dim=-1)
        return torch.stack(results).sum(0)

    def _activate(self, number: int, h: Tensor, dropout: float) -> Tensor:
        """Normalise, activate and drop the result of a layer."""
        if self.norms:
            h = _per_view(self.norms[number], h)
        is_last = number == len(self.layers) - 1
        if not self.activations:
            # `activate` would overwrite the result in the backward pass.
            return F.relu(h) if is_last else activate(h, dropout=dropout)
        h = self.activations[number](h)
        return drop(h, dropout) if dropout and not is_last else h


class PyGEncoder(nn.Module):
    """Any module called as `(x, edge_index[, edge_weight])`, fed one view at a time.

    A module that also takes `edge_attr` gets the edges' attributes; learned edges have
    none, theirs are zero, as are those of a graph that has none unlike the ones before.

    Args:
        module: the user's encoder; it must accept the columns of a view
            (`augment_channels` if features are learned, else the input's own).
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        # As PyG's modules have it; None if unknown.
        self.out_channels: Any = getattr(module, "out_channels", None)
        parameters = inspect.signature(module.forward).parameters
        self.accepts_weight = "edge_weight" in parameters
        self.accepts_attr = "edge_attr" in parameters
        # Number of edge attributes, 0 if none; saved with the weights.
        self.attr_channels: Tensor
        self.register_buffer("attr_channels", torch.tensor(0))

    def forward(self, adjacency: Adjacency, x: Tensor | Adjacency) -> Tensor:
        """Embed every node, view by view [N, ..., in] -> [N, ..., D]."""
        if isinstance(x, Adjacency):
            x = x.to_dense()
        held = adjacency.materialize()
        if not self.accepts_weight:
            # Edges of weight 0 are dropped, also for modules without edge weights.
            held = held.select(held.value != 0)
        edges = {"edge_index": held.edge_index}
        if self.accepts_weight:
            edges["edge_weight"] = held.value
        if held.attr is not None:
            self.attr_channels.fill_(held.attr.size(1))
        if self.accepts_attr and self.attr_channels:
            zeros = held.value.new_zeros(held.num_edges, int(self.attr_channels))
            edges["edge_attr"] = zeros if held.attr is None else held.attr
        try:
            if x.dim() == 2:
                result: Tensor = self.module(x, **edges)
                return result
            return torch.stack([self.module(v, **edges) for v in x.unbind(1)], dim=1)
        except RuntimeError as error:
            if "shapes cannot be multiplied" not in str(error):
                raise
            raise InputError(
                f"your encoder does not accept the {x.size(-1)} columns of a view: "
                f"change its input width or set augment_channels ({error})"
            ) from error


def _per_view(norm: nn.Module, h: Tensor) -> Tensor:
    """Normalise each view separately [N, (V,) C]."""
    if h.dim() == 2:
        result: Tensor = norm(h)
        return result
    return torch.stack([norm(view) for view in h.unbind(1)], dim=1)
