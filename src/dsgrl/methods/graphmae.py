r"""GraphMAE: rebuild masked features, https://arxiv.org/abs/2205.10803.

The features of some nodes are hidden behind a learned token. An encoder embeds the
graph, the codes of the same nodes are masked again, and a decoder rebuilds the features
from the codes of their neighbours. The scaled cosine error (Eq. 2) over hidden nodes is

.. math:: L = \overline{(1 - \cos(x_i, \hat x_i))^\gamma}

The embedding is the encoder's result on unmasked features; that of a graph is its
pooled nodes. The authors' program (https://github.com/THUDM/GraphMAE) differs in these
points:

* dropout of sparse features draws one mask for the token, not one per hidden node;
* GIN has ReLU inside its MLP, where theirs has a normalisation and PReLU; there a node
  is also its own neighbour;
* COLLAB has ReLU between the layers there, and PReLU here;
* features of nodes are divided by their row's sum (`scaling="rows"`, in the recipes),
  and on TU sets features are node labels or else one-hot degrees.
"""

from functools import partial
from typing import Any, ClassVar, Literal, Self, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dsgrl.encode import Encoder, GATLayer, GINLayer, GraphLayer, Readout, drop
from dsgrl.graph import Adjacency, Features, Graph, Spec, propagate
from dsgrl.graph.graph import select_rows
from dsgrl.losses.contrastive import SHORTEST
from dsgrl.methods.base import Method, Progress
from dsgrl.methods.bgrl import half_cosine
from dsgrl.methods.config import FitConfig
from dsgrl.parameters import (
    ABOVE_ZERO,
    AUTO,
    COUNT,
    OPEN_SHARE,
    SHARE,
    SWITCH,
    Rule,
    auto_or,
    is_number,
    one_of,
    parameter,
)
from dsgrl.typing import Level, LossTerms, NormName, ReadoutName

NODES = {
    "encoder": "gat",
    "norm": None,
    "error_power": 3.0,
    "decay": True,
    "lr": 1e-3,
    "weight_decay": 2e-4,
}
GRAPHS = {
    "encoder": "gin",
    "norm": "batch",
    "error_power": 1.0,
    "decay": False,
    "lr": 1.5e-4,
    "weight_decay": 0.0,
}


class GraphMAEMethod(Method):
    """An encoder, a decoder and the token of hidden nodes.

    Args:
        encoder: embeds a graph, (A, X) -> Z [N, D].
        decoder: one layer that rebuilds features from codes, (A, H) -> X [M, F]; it
            has no weights for the codes of a node itself, which are masked.
        widths: F and D.
        mask_rate: share of hidden nodes.
        replace_rate: share of the hidden nodes with features of another node in the
            place of the token.
        error_power: gamma.
        dropout: share of the input of encoder and decoder dropped while training.
        decay: whether the learning rate falls.
        readout: pools the nodes of a graph.
    """

    class Config(FitConfig):
        """The parameters of GraphMAE; the defaults are the authors' for Cora."""

        out_channels: int = parameter(
            COUNT, "width of the embedding", default=512, search=(64, 512, "log")
        )
        num_layers: int = parameter(
            COUNT, "layers of the encoder", default=2, search=(1, 3, "linear")
        )
        encoder: Literal["gat", "gin", "auto"] = parameter(
            one_of(AUTO, "gat", "gin"),
            'layers of encoder and decoder; "auto": "gat" for nodes, "gin" for graphs',
            default=AUTO,
        )
        num_heads: int = parameter(
            COUNT, 'heads of attention in the encoder, for "gat"', default=4
        )
        norm: NormName | Literal["auto"] | None = parameter(
            one_of(AUTO, None, *get_args(NormName)),
            'normalisation of each layer; "auto": None for nodes, "batch" for graphs',
            default=AUTO,
        )
        dropout: float = parameter(
            SHARE, "share of the input of each layer dropped", default=0.2
        )
        attention_drop: float = parameter(
            SHARE, 'share of the attention dropped, for "gat"', default=0.1
        )
        mask_rate: float = parameter(
            OPEN_SHARE,
            "share of hidden nodes",
            default=0.5,
            search=(0.25, 0.75, "linear"),
        )
        replace_rate: float = parameter(
            SHARE,
            "share of the hidden nodes that get features of another node",
            default=0.05,
            search=(0.0, 0.2, "linear"),
        )
        error_power: float | Literal["auto"] = parameter(
            auto_or(Rule(lambda v: is_number(v) and v >= 1, "a number from 1")),
            'gamma; "auto": 3 for nodes, 1 for graphs',
            default=AUTO,
            search=(1.0, 4.0, "linear"),
        )
        decay: bool | Literal["auto"] = parameter(
            auto_or(SWITCH),
            'whether the learning rate falls by half a cosine; "auto": for nodes',
            default=AUTO,
        )
        readout: ReadoutName = parameter(
            one_of(*get_args(ReadoutName)), "pooling of many graphs", default="mean"
        )
        lr: float | Literal["auto"] = parameter(
            auto_or(ABOVE_ZERO),
            'learning rate of Adam; "auto": 0.001 for nodes, 0.00015 for graphs',
            default=AUTO,
            search=(1e-4, 1e-2, "log"),
        )

        def fill_auto(self, spec: Spec) -> dict[str, Any]:
            """Return the value of "auto": the authors' for Cora and IMDB-B."""
            own = GRAPHS if spec.level == "graph" else NODES
            return {**super().fill_auto(spec), **own}

    summary: ClassVar[str] = "rebuilds masked features"
    levels: ClassVar[frozenset[Level]] = frozenset({"node", "graph"})

    def __init__(
        self,
        encoder: nn.Module,
        decoder: GraphLayer,
        widths: tuple[int, int],
        *,
        mask_rate: float,
        replace_rate: float,
        error_power: float,
        dropout: float,
        decay: bool,
        readout: str,
    ) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.token = nn.Parameter(torch.zeros(widths[0]))
        self.bridge = nn.Linear(widths[1], widths[1], bias=False)
        self.mask_rate, self.replace_rate = mask_rate, replace_rate
        self.error_power, self.dropout, self.decay = error_power, dropout, decay
        self.readout = Readout(readout)
        # A GAT layer needs X W only, others may need A X.
        self.keeps_sparse = isinstance(decoder, GATLayer)

    @classmethod
    def build(cls, config: Any, spec: Spec) -> Self:
        """Build the encoder and a decoder of one layer."""
        inputs, width = spec.in_channels[0], config.out_channels
        layer: Any = GINLayer
        decoder: Any = partial(GINLayer, hidden_channels=width)
        if config.encoder == "gat":
            decoder = partial(GATLayer, dropout=config.attention_drop)
            layer = partial(decoder, heads=config.num_heads)
        encoder = Encoder(
            inputs,
            width,
            width,
            num_layers=config.num_layers,
            layer=layer,
            dropout=config.dropout,
            norm=config.norm,
            activation="prelu",
            activate_last=True,
        )
        names = ("mask_rate", "replace_rate", "error_power", "dropout", "decay")
        return cls(
            encoder,
            decoder(width, inputs, bipartite=True),
            (inputs, width),
            readout=config.readout,
            **{name: getattr(config, name) for name in names},
        )

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the error of the rebuilt features of hidden nodes."""
        order = torch.randperm(batch.num_nodes).to(batch.adjacency.device)
        count = max(1, int(self.mask_rate * len(order)))
        hidden, visible = order[:count], order[count:]
        z = self.encoder(batch.adjacency, self._mask(batch.x, hidden))
        codes = drop(self.bridge(z[visible]), self.dropout)
        codes = torch.zeros_like(z).index_copy(0, visible, codes)
        # Only the rows of hidden nodes are rebuilt.
        matrix = batch.adjacency.normalized(self.decoder.normalization)
        rows = select_rows(matrix, hidden)
        assert isinstance(rows, Adjacency)
        rebuilt = self.decoder(
            Adjacency(rows.pattern, rows.value, bipartite=True), codes
        )
        target = select_rows(batch.x, hidden)
        if isinstance(target, Adjacency):
            target = target.to_dense()
        error = scaled_cosine_error(rebuilt, target, self.error_power)
        return LossTerms({"reconstruction": error}, z=z.detach())

    def rate(self, progress: Progress) -> float:
        """Return the share of the learning rate."""
        done = (progress.epoch - 1) / max(progress.epochs, 1)
        return half_cosine(done) if self.decay else 1.0

    def embed(self, graph: Graph) -> Tensor:
        """Embed the nodes [N, D], or pool them per graph [B, D]."""
        z: Tensor = self.encoder(graph.adjacency, graph.x)
        return z if graph.ptr is None else self.readout(z, graph.ptr)

    def _mask(self, x: Features, hidden: Tensor) -> Any:
        """Return the input of the encoder: hidden rows [M] replaced, and dropout."""
        count = int(self.replace_rate * len(hidden))
        replaced, token = hidden[:count], hidden[count:]
        if count:
            source = torch.arange(x.shape[0], device=hidden.device)
            drawn = torch.randint(x.shape[0], replaced.shape)
            x = select_rows(x, source.index_copy(0, replaced, drawn.to(hidden.device)))
        if isinstance(x, Adjacency) and not self.keeps_sparse:
            x = x.to_dense()
        if not isinstance(x, Adjacency):
            masked = x.index_copy(0, token, self.token.expand(len(token), -1))
            return drop(masked, self.dropout)
        is_token = torch.zeros(x.shape[0], device=hidden.device)
        is_token[token] = 1.0
        kept = x.value * (1 - is_token)[x.pattern.row]
        rows = x.with_value(drop(kept, self.dropout))
        return _MaskedRows(rows, is_token, drop(self.token, self.dropout))


class _MaskedRows:
    """Sparse features, some rows of which are a dense vector: only X W is computed."""

    def __init__(self, rows: Adjacency, is_token: Tensor, token: Tensor) -> None:
        self.rows, self.is_token, self.token = rows, is_token, token

    def __matmul__(self, weight: Tensor) -> Tensor:
        return torch.addr(
            propagate(self.rows, weight), self.is_token, self.token @ weight
        )


def scaled_cosine_error(guess: Tensor, target: Tensor, power: float) -> Tensor:
    """Return the mean of (1 - cos)^power over the rows [M, F], Eq. 2."""
    # A guess from no visible neighbour is zero at first.
    guess, target = (F.normalize(h, dim=1, eps=SHORTEST) for h in (guess, target))
    cosine = (guess * target).sum(dim=1)
    # Rounding must not make a negative number, which has no fractional power.
    return (1 - cosine).clamp_min(0).pow(power).mean()
