r"""Encoders of whole graphs that baselines share; both have GIN layers and sums.

`SummedEncoder` is that of AD-GCL: a graph is the sum of the last layer's results.
`PooledEncoder` is that of InfoGraph, GraphCL, JOAO and SimGRACE:

.. math:: H_l = BN(relu(GIN(A, H_{l-1}))), \quad
          z = [\textstyle\sum_i h_{1,i} \,|\, \dots \,|\, \sum_i h_{L,i}]

In both the last layer has a batch norm, too: columns have mean 0 before the sums, which
would else mostly tell the size of a graph.
"""

import torch
from torch import Tensor, nn

from dsgrl.encode.encoder import Encoder
from dsgrl.encode.layers import GINLayer
from dsgrl.encode.norm import BatchNorm
from dsgrl.encode.readout import Readout
from dsgrl.graph import Graph


class PooledEncoder(nn.Module):
    """GIN layers, each pooled over the nodes of a graph, side by side.

    Args:
        in_channels: width of the input.
        out_channels: width D of the result; every layer has its share of it.
        num_layers: number of layers.
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, num_layers: int = 3
    ) -> None:
        super().__init__()
        if out_channels < num_layers:
            raise ValueError(
                f"out_channels={out_channels}: expected a column for each of "
                f"{num_layers} layers"
            )
        share = out_channels // num_layers
        widths = [share] * (num_layers - 1)
        widths.append(out_channels - sum(widths))
        self.layers = nn.ModuleList(
            GINLayer(a, b) for a, b in zip([in_channels, *widths], widths, strict=False)
        )
        self.norms = nn.ModuleList(BatchNorm(width) for width in widths)
        self.readout = Readout("sum")
        self.out_channels = out_channels

    def forward(self, graph: Graph) -> Tensor:
        """Embed every graph [B, D]."""
        assert graph.ptr is not None
        pooled: Tensor = self.readout(self.embed_nodes(graph), graph.ptr)
        return pooled

    def embed_nodes(self, graph: Graph) -> Tensor:
        """Embed every node: the results of all layers side by side [N, D]."""
        h, results = graph.x, []
        for layer, norm in zip(self.layers, self.norms, strict=True):
            assert isinstance(layer, GINLayer)
            h = norm(layer.activated(graph.adjacency, h, 0.0))
            results.append(h)
        return torch.cat(results, dim=1)


class SummedEncoder(nn.Module):
    """GIN layers with batch norms; a graph is the sum over its nodes.

    Args:
        in_channels: width of the input.
        out_channels: width D.
        num_layers: number of layers.
    """

    def __init__(
        self, in_channels: int, out_channels: int, *, num_layers: int = 3
    ) -> None:
        super().__init__()
        self.gin = Encoder(
            in_channels,
            out_channels,
            out_channels,
            num_layers=num_layers,
            layer="gin",
            norm="batch",
            last_bias=False,
        )
        self.norm = BatchNorm(out_channels)
        self.readout = Readout("sum")
        self.out_channels = out_channels

    def embed_nodes(self, graph: Graph) -> Tensor:
        """Embed every node [N, D]."""
        h: Tensor = self.norm(self.gin(graph.adjacency, graph.x))
        return h

    def forward(self, graph: Graph) -> Tensor:
        """Embed every graph [B, D]."""
        z: Tensor = self.readout(self.embed_nodes(graph), graph.ptr)
        return z
