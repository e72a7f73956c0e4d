r"""What the contrastive methods for whole graphs share: encoder, head and loss.

.. math:: L = -\frac{1}{B} \sum_b \log
          \frac{e^{\cos(u_b, v_b) / t}}{\sum_{c \ne b} e^{\cos(u_b, v_c) / t}}

u_b and v_b are the projected embeddings of two views of graph b (NT-Xent, Eq. 3 of
GraphCL). The loss is taken in both directions and averaged. The embedding is what the
encoder returns, without the projection.
"""

from typing import Any, ClassVar, Self

from torch import Tensor, nn

from dsgrl.encode import PooledEncoder
from dsgrl.graph import Graph, Spec
from dsgrl.losses.contrastive import LOWEST_TEMPERATURE, info_nce
from dsgrl.methods.base import Method
from dsgrl.methods.config import EPOCHS_RULE, FitConfig
from dsgrl.parameters import ABOVE_ZERO, COUNT, Rule, is_number, parameter, refuse
from dsgrl.typing import Level

TEMPERATURE = Rule(
    lambda value: is_number(value) and value >= LOWEST_TEMPERATURE,
    f"a number from {LOWEST_TEMPERATURE}",
)


class GraphContrastConfig(FitConfig):
    """Parameters of every method of this kind; defaults as in GraphCL's program."""

    out_channels: int = parameter(
        COUNT,
        "width of the embedding; every layer has its share of it",
        default=96,
        search=(32, 256, "log"),
    )
    num_layers: int = parameter(
        COUNT, "GIN layers of the encoder", default=3, search=(2, 5, "linear")
    )
    temperature: float = parameter(
        TEMPERATURE, "t of the loss", default=0.2, search=(0.1, 1.0, "log")
    )
    epochs: Any = parameter(
        EPOCHS_RULE,
        'number of epochs, 0 for no training; "auto": 5',
        default=20,
        search={"graph": (5, 40, "log")},
    )
    lr: float = parameter(
        ABOVE_ZERO, "learning rate of Adam", default=0.01, search=(1e-3, 3e-2, "log")
    )

    def check(self, prefix: str = "") -> None:
        """Refuse values, and pairs of values, that cannot work."""
        super().check(prefix)
        if self.out_channels < self.num_layers:
            refuse(
                prefix + "out_channels",
                self.out_channels,
                f"a column for each of {self.num_layers} layers",
            )


class GraphContrast(Method):
    """An encoder of graphs and a projection head; a subclass makes the views.

    Args:
        encoder: embeds graphs, `Graph` -> [B, D]; it has `out_channels` D.
        temperature: t.
    """

    Config: ClassVar[type[FitConfig]] = GraphContrastConfig
    levels: ClassVar[frozenset[Level]] = frozenset({"graph"})

    def __init__(self, encoder: nn.Module, *, temperature: float) -> None:
        super().__init__()
        width: Any = encoder.out_channels
        self.encoder = encoder
        self.head = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)
        )
        self.temperature = temperature

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the encoder and the method on it."""
        encoder = PooledEncoder(
            spec.in_channels[0], config.out_channels, num_layers=config.num_layers
        )
        return cls(encoder, temperature=config.temperature, **cls.options(config))

    @classmethod
    def options(cls, config: Any) -> dict[str, Any]:
        """Return the other arguments of the constructor."""
        return {}

    def contrast(self, u: Tensor, v: Tensor) -> Tensor:
        """Return the loss of two projected views [B, D]."""
        return info_nce(u, v, self.temperature, within=False, keep_positive=False)

    def embed(self, graph: Graph) -> Tensor:
        """Embed every graph [B, D]."""
        z: Tensor = self.encoder(graph)
        return z
