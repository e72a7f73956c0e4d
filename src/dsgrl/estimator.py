"""`DSGRL`: the method as a scikit-learn estimator."""

import importlib.metadata
import logging
import secrets
from pathlib import Path
from typing import Any, Literal, Self

import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from dsgrl.graph import Adjacency, Graph, as_graph
from dsgrl.graph.inputs import reorder_columns
from dsgrl.graph.scaling import ColumnScale, fit_scale
from dsgrl.methods import build_dsgrl, check_parameters
from dsgrl.train import TrainConfig, seeded, train
from dsgrl.train.folder import SavedModel, load_model, save_model
from dsgrl.train.progress import progress_bar
from dsgrl.typing import (
    AggregateName,
    AugmentName,
    EncoderName,
    FloatArray,
    InputError,
    InvarianceName,
    JumpName,
    NormName,
    RegularizerName,
    ScalingName,
    SimilarityName,
    View,
)

logger = logging.getLogger(__name__)

FITTED = ("n_features_in_", "feature_names_", "structural_", "num_nodes_", "epoch_")
TRAINING = (
    "epochs",
    "max_epochs",
    "patience",
    "check_every",
    "holdout",
    "lr",
    "weight_decay",
    "warmup_epochs",
)


class DSGRL(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Embeddings of a graph's nodes, learned without labels.

    Two learned views of the graph (of its features, its edges or both) go through one
    shared encoder that is trained to embed them alike without collapsing.

    Args:
        augment: what is learned to make the views: "feature", "topology" or "both".
        encoder: "gcn", "sage", "gin", or any module called as
            `(x, edge_index[, edge_weight])` that takes the columns of a view:
            `augment_channels`, or the input's own under "topology". It is copied.
        out_channels: width of a view's embedding; the two views are concatenated.
        hidden_channels: width between the encoder's layers; `out_channels` if None.
        num_layers: layers of the encoder.
        norm: normalisation between them: None, "batch" or "layer".
        jump: what the encoder returns: its "last" layer, the "sum" of all, or "cat".
        augment_channels: width of an augmented view.
        augment_layers: layers of each feature augmenter.
        topology_layers: layers of the GNN whose similarities are the learned edges.
        edges_per_node: the most learned edges per node, before both directions are
            taken together; None for every pair above the row's mean (small graphs).
        similarity: "cosine", or "inner" for plain inner products.
        keep_edges: keep the original edges among the learned ones.
        refresh: training steps between two look-ups of the learned edges.
        dropout: share dropped after each hidden layer while training.
        aggregate: how the views' embeddings become one: "concat", "mean", "sum".
        invariance: "mse" or "frobenius" (Eq. 1).
        regularizer: "covariance" (Eq. 4) or "orthogonality" (Eq. 7).
        invariance_weight: alpha.
        variance_weight: beta.
        covariance_weight: gamma.
        orthogonality_weight: lambda.
        unit_rows: scale the augmenters' weights to unit rows inside Eq. 5.
        epochs: a number (0: the untrained model), or "auto": hide some links, keep
            the earliest epoch within one standard error of the best at telling them
            from random pairs, the untrained model included.
        max_epochs: the most that "auto" takes.
        patience: "auto" stops when the epoch to keep lies this many back.
        check_every: epochs between two looks at the held-out links.
        holdout: share of the edges that "auto" hides from training.
        lr: learning rate.
        weight_decay: L2 penalty of Adam.
        warmup_epochs: epochs over which the rate rises to `lr`.
        scaling: "standard" gives every dense column mean 0 and deviation 1, "none"
            leaves features as they are, "auto" scales unless they are 0/1 or sparse.
        device: "auto" (a GPU if there is one), "cpu", "cuda", ...
        random_state: same seed, same machine, same embeddings; None draws one.
        verbose: show a progress bar on a terminal.

    Attributes:
        method_: the trained `torch.nn` module.
        history_: one row per epoch: loss terms, effective rank and deviation of the
            embedding, and the score of held-out links where it was taken.
        epoch_: the epoch that was kept.
        n_features_in_: number of feature columns.
    """

    def __init__(
        self,
        *,
        augment: AugmentName = "feature",
        encoder: EncoderName | nn.Module = "gcn",
        out_channels: int = 128,
        hidden_channels: int | None = None,
        num_layers: int = 2,
        norm: NormName | None = None,
        jump: JumpName = "last",
        augment_channels: int = 256,
        augment_layers: int = 1,
        topology_layers: int = 2,
        edges_per_node: int | None = 16,
        similarity: SimilarityName = "cosine",
        keep_edges: bool = False,
        refresh: int = 5,
        dropout: float = 0.5,
        aggregate: AggregateName = "concat",
        invariance: InvarianceName = "mse",
        regularizer: RegularizerName = "covariance",
        invariance_weight: float = 1.0,
        variance_weight: float = 1.0,
        covariance_weight: float = 1.0,
        orthogonality_weight: float = 0.0,
        unit_rows: bool = False,
        epochs: int | Literal["auto"] = "auto",
        max_epochs: int = 500,
        patience: int = 100,
        check_every: int = 5,
        holdout: float = 0.05,
        lr: float = 1e-3,
        weight_decay: float = 0.0,
        warmup_epochs: int = 0,
        scaling: ScalingName = "auto",
        device: str = "auto",
        random_state: int | None = 0,
        verbose: bool = False,
    ) -> None:
        self.augment = augment
        self.encoder = encoder
        self.out_channels = out_channels
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        self.norm = norm
        self.jump = jump
        self.augment_channels = augment_channels
        self.augment_layers = augment_layers
        self.topology_layers = topology_layers
        self.edges_per_node = edges_per_node
        self.similarity = similarity
        self.keep_edges = keep_edges
        self.refresh = refresh
        self.dropout = dropout
        self.aggregate = aggregate
        self.invariance = invariance
        self.regularizer = regularizer
        self.invariance_weight = invariance_weight
        self.variance_weight = variance_weight
        self.covariance_weight = covariance_weight
        self.orthogonality_weight = orthogonality_weight
        self.unit_rows = unit_rows
        self.epochs = epochs
        self.max_epochs = max_epochs
        self.patience = patience
        self.check_every = check_every
        self.holdout = holdout
        self.lr = lr
        self.weight_decay = weight_decay
        self.warmup_epochs = warmup_epochs
        self.scaling = scaling
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, data: Any, y: object = None) -> Self:
        """Learn from a graph.

        Args:
            data: a `torch_geometric.data.Data`.
            y: ignored; labels are never looked at.
        """
        self._fit(data)
        return self

    def fit_transform(self, data: Any, y: object = None) -> FloatArray:
        """Learn from a graph and embed it [N, d]; `y` is ignored."""
        return self._embed(self._fit(data))

    def _fit(self, data: Any) -> Graph:
        """Learn, and return the graph as the model sees it."""
        parameters = self.get_params(deep=False)
        check_parameters(parameters)
        graph = as_graph(data)
        if graph.num_nodes < 2:
            raise InputError(
                "the graph has one node: expected two or more to learn from"
            )
        scale = fit_scale(graph.x, self.scaling)
        config = TrainConfig(**{name: parameters[name] for name in TRAINING})
        total = config.max_epochs if config.epochs == "auto" else config.epochs
        device = _pick_device(self.device)
        seed = self.random_state
        with (
            seeded(secrets.randbits(32) if seed is None else int(seed)),
            progress_bar(total, shown=self.verbose) as report,
        ):
            method = build_dsgrl(parameters, graph.num_features).to(device)
            graph = _scaled(graph, scale).to(device)
            history, epoch = train(method, graph, config, report)
        # Only now: a fit that fails leaves the model as it was.
        self.method_, self.scale_ = method, scale
        self.history_, self.epoch_ = history, epoch
        self.n_features_in_, self.num_nodes_ = graph.num_features, graph.num_nodes
        self.feature_names_ = _feature_names(data)
        self.structural_ = getattr(data, "x", None) is None
        return graph

    def transform(self, data: Any) -> FloatArray:
        """Embed a graph with the same columns, seen or unseen [N, d]."""
        return self._embed(self._prepare(data))

    def _embed(self, graph: Graph) -> FloatArray:
        with torch.no_grad():
            z: FloatArray = self.method_.embed(graph).cpu().numpy()
        return z

    def views(self, data: Any) -> tuple[View, View]:
        """Return the two learned views of a graph, to inspect or use elsewhere."""
        graph = self._prepare(data)
        with torch.no_grad():
            one, two = self.method_.views(graph)
        return _as_view(*one), _as_view(*two)

    def save(self, path: str | Path) -> None:
        """Write a model folder: safetensors, config.json, history.csv and a card."""
        check_is_fitted(self, "method_")
        parameters = self.get_params(deep=False)
        if isinstance(self.encoder, nn.Module):
            parameters["encoder"] = f"module:{type(self.encoder).__name__}"
        config = {
            "version": importlib.metadata.version("dsgrl"),
            "parameters": parameters,
            "fitted": {name: getattr(self, name) for name in FITTED},
        }
        state = self.method_.state_dict(prefix="method.")
        if self.scale_ is not None:
            state.update({f"scale.{k}": v for k, v in self.scale_._asdict().items()})
        save_model(Path(path), SavedModel(config, state, self.history_))

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        encoder: nn.Module | None = None,
        device: str = "auto",
    ) -> "DSGRL":
        """Read a model folder.

        Args:
            path: the folder.
            encoder: a module like the one the model was trained with, if that was
                the user's own.
            device: where to run it, whatever it was trained on.
        """
        saved = load_model(Path(path))
        try:
            parameters = {**saved.config["parameters"], "device": device}
            if str(parameters["encoder"]).startswith("module:"):
                if encoder is None:
                    raise InputError(
                        f"{path}: trained with your own encoder "
                        f"{parameters['encoder'][7:]}: pass load(path, encoder=...)"
                    )
                parameters["encoder"] = encoder
            model = cls(**parameters)
            for name in FITTED:
                setattr(model, name, saved.config["fitted"][name])
            model.method_ = build_dsgrl(parameters, model.n_features_in_)
            state = dict(saved.state)
            model.scale_ = None
            if "scale.mean" in state:
                scale = {k: state.pop(f"scale.{k}") for k in ColumnScale._fields}
                model.scale_ = ColumnScale(**scale)
            model.method_.load_state_dict(
                {key.removeprefix("method."): value for key, value in state.items()}
            )
        except InputError:
            raise
        except (KeyError, TypeError, RuntimeError, AttributeError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise InputError(
                f"{path}: the saved model is broken ({reason}): save it again"
            ) from error
        model.history_ = saved.history
        model.method_.to(_pick_device(model.device)).eval()
        return model

    def _prepare(self, data: Any) -> Graph:
        """Check that a graph has the columns of the training graph; scale them."""
        check_is_fitted(self, "method_")
        has_features = getattr(data, "x", None) is not None
        if has_features == self.structural_:
            raise InputError(
                f"the model was trained {'without' if self.structural_ else 'with'} "
                f"node features, this graph is {'with' if has_features else 'without'}"
            )
        graph = as_graph(data, structural_columns=self.n_features_in_)
        if self.structural_ and graph.num_nodes != self.num_nodes_:
            logger.warning(
                "the features are structural and this is another graph: its spectral "
                "coordinates need not agree with those of training"
            )
        names = _feature_names(data)
        if names is not None and self.feature_names_ is not None:
            graph = reorder_columns(graph, names, self.feature_names_)
        if graph.num_features != self.n_features_in_:
            raise InputError(
                f"the graph has {graph.num_features} feature columns, the model "
                f"was trained on {self.n_features_in_}"
            )
        device = next(self.method_.parameters()).device
        return _scaled(graph, self.scale_).to(device)


def _scaled(graph: Graph, scale: ColumnScale | None) -> Graph:
    """Scale the columns as in training, also those still to be made from edges."""
    if scale is None:
        return graph
    make = graph.make_features
    made = None if make is None else (lambda adjacency: scale.apply(make(adjacency)))
    return Graph(scale.apply(graph.x), graph.adjacency, made)


def _as_view(adjacency: Adjacency, x: Tensor | Adjacency) -> View:
    dense = x.to_dense() if isinstance(x, Adjacency) else x
    adjacency = adjacency.materialize()
    return View(dense.cpu(), adjacency.edge_index.cpu(), adjacency.value.cpu())


def _feature_names(data: Any) -> list[str] | None:
    names = getattr(data, "feature_names", None)
    return None if names is None else [str(name) for name in names]


def _pick_device(device: str) -> torch.device:
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"device={device!r}: not on this machine, expected 'auto', 'cpu' or 'cuda'"
        ) from error
    return found
