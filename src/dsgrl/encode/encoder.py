"""The shared encoder h: layers of one kind, or any PyG-style module of the user's."""

import inspect
import itertools

import torch
from torch import Tensor, nn

from dsgrl.encode.dense import activate
from dsgrl.encode.layers import LAYERS, GraphLayer
from dsgrl.graph import Adjacency
from dsgrl.typing import EncoderName, JumpName, NormName


class Encoder(nn.Module):
    """A stack of graph layers with ReLU and dropout between them.

    Views lie side by side in the middle axis: they share the weights and one pass
    over the edges; a normalisation layer sees each view by itself.

    Args:
        in_channels: width of the input.
        hidden_channels: width between the layers.
        out_channels: width of the result of the last layer.
        num_layers: number of layers.
        layer: "gcn", "sage" or "gin".
        dropout: share dropped between the layers while training.
        norm: normalisation before each ReLU: None, "batch" or "layer".
        jump: what is returned: the "last" layer's result, the "sum" of all layers'
            results (then hidden and out must agree) or all of them side by side,
            "cat".
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        layer: EncoderName = "gcn",
        dropout: float = 0.0,
        norm: NormName | None = None,
        jump: JumpName = "last",
    ) -> None:
        super().__init__()
        if jump == "sum" and num_layers > 1 and hidden_channels != out_channels:
            raise ValueError(
                f"jump='sum' adds the layers' results: hidden_channels="
                f"{hidden_channels} must equal out_channels={out_channels}"
            )
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.layers = nn.ModuleList(
            LAYERS[layer](a, b) for a, b in itertools.pairwise(widths)
        )
        kinds = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm}
        self.norms = nn.ModuleList(kinds[norm](w) for w in widths[1:-1] if norm)
        self.dropout = dropout
        self.jump = jump
        self.out_channels = sum(widths[1:]) if jump == "cat" else out_channels

    def forward(self, adjacency: Adjacency, x: Tensor | Adjacency) -> Tensor:
        """Embed every node.

        Args:
            adjacency: the graph, not normalised [N, N].
            x: node features, one or more views [N, ..., in], or sparse ones.

        Returns:
            Embeddings [N, ..., D].
        """
        dropout = self.dropout if self.training else 0.0
        results: list[Tensor] = []
        h: Tensor | Adjacency = x
        *hidden, last = self.layers
        for number, layer in enumerate(hidden):
            assert isinstance(layer, GraphLayer)
            h = layer.message(adjacency, h)
            if self.norms:
                h = _per_view(self.norms[number], h + layer.bias)
                h = activate(h, dropout=dropout)
            else:
                h = activate(h, layer.bias, dropout=dropout)
            results.append(h)
        results.append(last(adjacency, h))
        if self.jump == "last":
            return results[-1]
        if self.jump == "cat":
            return torch.cat(results, dim=-1)
        return torch.stack(results).sum(0)


class PyGEncoder(nn.Module):
    """Any module called as `(x, edge_index[, edge_weight])`, fed one view at a time.

    Args:
        module: the user's encoder; it must accept the columns of a view
            (`augment_channels`, or the input's own if only topology is learned).
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        parameters = inspect.signature(module.forward).parameters
        self.accepts_weight = "edge_weight" in parameters

    def forward(self, adjacency: Adjacency, x: Tensor | Adjacency) -> Tensor:
        """Embed every node, view by view [N, ..., in] -> [N, ..., D]."""
        if isinstance(x, Adjacency):
            x = x.to_dense()
        held = adjacency.materialize()
        edges = {"edge_index": held.edge_index}
        if self.accepts_weight:
            edges["edge_weight"] = held.value
        if x.dim() == 2:
            result: Tensor = self.module(x, **edges)
            return result
        return torch.stack([self.module(v, **edges) for v in x.unbind(1)], dim=1)


def _per_view(norm: nn.Module, h: Tensor) -> Tensor:
    """Normalise each view by itself [N, (V,) C]."""
    if h.dim() == 2:
        result: Tensor = norm(h)
        return result
    return torch.stack([norm(view) for view in h.unbind(1)], dim=1)
