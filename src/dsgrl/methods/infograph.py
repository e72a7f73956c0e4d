r"""InfoGraph: nodes against their graph, https://arxiv.org/abs/1908.01000.

A node and its graph are a true pair, a node and another graph of the batch a false
one. With projections u of nodes and v of graphs, the mutual information is estimated by
Jensen-Shannon (Eqs. 4 and 5):

.. math:: L = \overline{softplus(-u_i \cdot v_{g(i)})}
            + \overline{softplus(u_i \cdot v_h)}_{h \ne g(i)} - 2 \log 2

A node is the results of all layers side by side, a graph the sum of its nodes. The
embedding of a graph is that sum, without the projection. The authors' program
(https://github.com/sunfanyunn/InfoGraph) differs in these points:

* a set without features has a constant there, and degrees here (`structural_columns`);
* all its linear maps start from Xavier's distribution;
* its optional prior, off by default, is not here;
* it scores every epoch and reports the best one; here `epochs` decides.
"""

from typing import Any, ClassVar, Self

from torch import Tensor, nn

from dsgrl.encode import PooledEncoder
from dsgrl.encode.heads import ShortcutMLP
from dsgrl.graph import Graph, Spec
from dsgrl.losses.contrastive import contrast_with_graphs
from dsgrl.methods.base import Method
from dsgrl.methods.config import FitConfig
from dsgrl.parameters import ABOVE_ZERO, COUNT, parameter
from dsgrl.typing import Level, LossTerms


class InfoGraphMethod(Method):
    """One encoder, and a projection for nodes and one for graphs.

    Args:
        encoder: embeds the nodes of many graphs, and pools them [N, D] -> [B, D].
        channels: D.
    """

    class Config(FitConfig):
        """The parameters of InfoGraph."""

        out_channels: int = parameter(
            COUNT,
            "width of the embedding; every layer has its share of it",
            default=160,
            search=(32, 512, "log"),
        )
        num_layers: int = parameter(
            COUNT, "layers of the encoder", default=5, search=(2, 8, "linear")
        )
        lr: float = parameter(
            ABOVE_ZERO,
            "learning rate of Adam",
            default=1e-3,
            search=(1e-4, 1e-2, "log"),
        )

    summary: ClassVar[str] = "nodes against their graph"
    levels: ClassVar[frozenset[Level]] = frozenset({"graph"})

    def __init__(self, encoder: PooledEncoder, channels: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.of_nodes: nn.Module = ShortcutMLP(channels, channels)
        self.of_graphs: nn.Module = ShortcutMLP(channels, channels)

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the encoder and the projections."""
        width = config.out_channels
        encoder = PooledEncoder(
            spec.in_channels[0], width, num_layers=config.num_layers
        )
        return cls(encoder, width)

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the contrast of true and false pairs."""
        assert batch.ptr is not None
        nodes = self.encoder.embed_nodes(batch)
        graphs = self.encoder.readout(nodes, batch.ptr)
        loss = contrast_with_graphs(
            self.of_nodes(nodes), self.of_graphs(graphs), batch.ptr
        )
        return LossTerms({"contrast": loss}, z=graphs.detach())

    def embed(self, graph: Graph) -> Tensor:
        """Embed every graph [B, D]."""
        z: Tensor = self.encoder(graph)
        return z
