"""One layer for several relations: the paper's Theta = {theta_R}."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dsgrl.encode.dense import activate
from dsgrl.encode.layers import LAYERS, GraphLayer
from dsgrl.graph import Features, Relations, Schema
from dsgrl.typing import LayerName


class RelationalLayer(nn.Module):
    """One layer per relation; the messages of all relations are summed per node.

    A node's own features come in through its type's relation to itself (see
    `Relations`); relations between types carry messages only. With one type and one
    relation this is the plain layer.

    Args:
        schema: the types and relations.
        kind: of the layers: "gcn", "sage", "gin" or "gat".
        in_channels: width of the input, or one width per type.
        out_channels: width of the result.
        bias: whether the layer adds one, of each type.
    """

    def __init__(
        self,
        schema: Schema,
        kind: LayerName,
        in_channels: int | Sequence[int],
        out_channels: int,
        *,
        bias: bool = True,
    ) -> None:
        types = len(schema.types)
        widths = (
            [in_channels] * types if isinstance(in_channels, int) else list(in_channels)
        )
        super().__init__()
        self.schema = schema
        self.relations = nn.ModuleList(
            LAYERS[kind](
                widths[source], out_channels, bias=False, bipartite=source != target
            )
            for source, target in schema.ends()
        )
        self.bias = nn.Parameter(torch.zeros(types, out_channels)) if bias else None

    def messages(
        self, adjacency: Relations, x: Tensor | tuple[Features, ...]
    ) -> list[Tensor]:
        """Return the summed messages of every type [N_type, ..., out]."""
        parts = adjacency.split_rows(x) if isinstance(x, Tensor) else x
        received: list[Tensor | None] = [None] * len(self.schema.types)
        for layer, part, (source, target) in zip(
            self.relations,
            adjacency.adjacencies.values(),
            self.schema.ends(),
            strict=True,
        ):
            assert isinstance(layer, GraphLayer)
            message = layer.message(part, parts[source])
            known = received[target]
            received[target] = message if known is None else known.add_(message)
        return [message for message in received if message is not None]

    def forward(self, adjacency: Relations, x: Tensor | tuple[Features, ...]) -> Tensor:
        """Pass messages once along every relation."""
        received = self.messages(adjacency, x)
        if self.bias is not None:
            received = [m + b for m, b in zip(received, self.bias, strict=True)]
        return torch.cat(received)

    def activated(
        self,
        adjacency: Relations,
        x: Tensor | tuple[Features, ...],
        dropout: float,
    ) -> Tensor:
        """Return dropout(relu(result))."""
        received = self.messages(adjacency, x)
        biases = [None] * len(received) if self.bias is None else list(self.bias)
        return torch.cat(
            [
                activate(message, bias, dropout=dropout)
                for message, bias in zip(received, biases, strict=True)
            ]
        )
