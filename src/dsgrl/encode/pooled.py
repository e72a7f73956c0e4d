r"""The encoder of whole graphs that InfoGraph, GraphCL, JOAO and SimGRACE share.

.. math:: H_l = BN(relu(GIN(A, H_{l-1}))), \quad
          z = [\textstyle\sum_i h_{1,i} \,|\, \dots \,|\, \sum_i h_{L,i}]

It differs from `Encoder` in the order of ReLU and batch norm, and in that the last
layer has both: the sums over a graph are then of columns with mean 0, and are not all
its size.
"""

import torch
from torch import Tensor, nn

from dsgrl.encode.encoder import normalize_rows
from dsgrl.encode.layers import GINLayer
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
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for width in widths)
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
            h = normalize_rows(norm, layer.activated(graph.adjacency, h, 0.0))
            results.append(h)
        return torch.cat(results, dim=1)
