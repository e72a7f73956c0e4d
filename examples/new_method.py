"""A new method in one file: parameters, a loss and an embedding; no loop.

Registered by one line, it is fitted, stopped by held-out links, saved and loaded as
every other. To keep it, put the class into `src/dsgrl/methods/` and the row into
`methods/registry.py`: the command line and the tests then know it as well.
"""

from typing import Any, ClassVar, Self

from torch import Tensor, nn

from dsgrl import embedder, evaluate, read_graph
from dsgrl.encode import Encoder
from dsgrl.graph import Graph, Spec
from dsgrl.losses.objective import invariance, variance
from dsgrl.methods import METHODS
from dsgrl.methods.base import Method
from dsgrl.methods.config import FitConfig
from dsgrl.parameters import COUNT, SHARE, parameter
from dsgrl.typing import Level, LossTerms


class TwicePassedMethod(Method):
    """Two passes with different dropout agree, and no column is constant."""

    class Config(FitConfig):
        """The parameters, each declared once."""

        out_channels: int = parameter(
            COUNT, "width of the embedding", default=64, search=(32, 256, "log")
        )
        dropout: float = parameter(
            SHARE, "share dropped in a pass", default=0.5, search=(0.2, 0.8, "linear")
        )

    summary: ClassVar[str] = "two passes with dropout agree"
    levels: ClassVar[frozenset[Level]] = frozenset({"node"})

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the encoder for the data at hand."""
        width = config.out_channels
        columns = spec.in_channels[0]
        return cls(Encoder(columns, width, width, num_layers=2, dropout=config.dropout))

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the terms of one step."""
        one, two = self.embed(batch), self.embed(batch)
        terms = {"agreement": invariance(one, two), "variance": variance(one)}
        return LossTerms(terms, z=one.detach())

    def embed(self, graph: Graph) -> Tensor:
        """Embed the graph [N, out_channels]."""
        z: Tensor = self.encoder(graph.adjacency, graph.x)
        return z


METHODS["twice-passed"] = TwicePassedMethod

data = read_graph("debian")
model = embedder("twice-passed")(epochs=3, random_state=0)
z = model.fit_transform(data)
print(z.shape, f"{evaluate(z, data.y).mean:.1f} %")
model.save("model")
print(type(model).load("model").transform(data).shape)
