"""`DSGRL`: the method as a scikit-learn estimator."""

import importlib.metadata
import secrets
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Self

import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from dsgrl.augment.inspect import as_views
from dsgrl.encode import smooth
from dsgrl.graph import Graph
from dsgrl.graph.inputs import is_bare, level_of
from dsgrl.graph.prepare import Preparation
from dsgrl.methods import (
    DSGRLMethod,
    build_for,
    check_parameters,
    note_unused_attributes,
    resolve_auto,
)
from dsgrl.train import TrainConfig, seeded, train
from dsgrl.train.allocator import retain_heap
from dsgrl.train.batches import embed_all
from dsgrl.train.device import pick_device
from dsgrl.train.folder import SavedModel, load_model, save_model, split_state
from dsgrl.train.memory import pick_search, warn_if_too_large
from dsgrl.train.progress import progress_bar
from dsgrl.typing import (
    AggregateName,
    AugmentName,
    CandidatesName,
    EncoderName,
    FloatArray,
    InputError,
    InvarianceName,
    JumpName,
    NormName,
    RegularizerName,
    ScalingName,
    SimilarityName,
    TopologyName,
)

Embeddings = FloatArray | dict[str, FloatArray]
FITTED = ("n_features_in_", "epoch_", "chosen_", "smoothing_")
TRAINING = tuple(field.name for field in fields(TrainConfig))


class DSGRL(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Embeddings of a graph's nodes, or of whole graphs, learned without labels.

    Two views of the graph, learned (its features, its edges or both) or given, go
    through one shared encoder that is trained to embed them alike without collapsing.

    Args:
        augment: what is learned to make the views: "feature", "topology" or "both";
            "auto": as `topology` says; "feature" for many graphs and bare nodes.
        encoder: "gcn", "sage", "gin", or any module called as
            `(x, edge_index[, edge_weight])` that takes the columns of a view:
            `augment_channels`, or the input's own under "topology". It is copied.
            "auto": "gcn" for nodes, "gin" for graphs.
        out_channels: width of a view's embedding; the two views are concatenated.
        hidden_channels: width between the encoder's layers; `out_channels` if None.
        num_layers: layers of the encoder; "auto": 2 for nodes, 3 for graphs.
        norm: normalisation between them: None, "batch" or "layer"; "auto": None for
            nodes, "batch" for graphs.
        jump: what the encoder returns: its "last" layer, the "sum" of all, or all
            side by side, "cat"; "auto": "last" for nodes, "cat" for graphs.
        readout: how the nodes of a graph become one vector: "sum", "log_sum" (its
            logarithm), "mean" or "max", or several side by side, as "mean+max".
        augment_channels: width of an augmented view.
        augment_layers: layers of each feature augmenter.
        topology: the second graph: "learned", or one that is not: "random", "knn_x",
            "knn_ax" (similar features, similar neighbours'), "two_hop", or "none" (all
            alone); "auto": "learned" if `augment` is named, else "none" (nodes of one
            kind) or "two_hop" (of several).
        topology_layers: layers of the GNN whose similarities are the learned edges.
        edges_per_node: the most learned edges per node, before both directions are
            taken together; None for every pair above the row's mean (small graphs).
        edge_multiplier: instead, as many as make up this multiple of the graph's own.
        symmetric: learned edges go both ways.
        candidates: how learned edges are found: "exact" compares all pairs, "index"
            asks an approximate index (extra `scale`), "hops" looks around each node;
            "auto": exact where that takes little time.
        similarity: "cosine", or "inner" for plain inner products.
        keep_edges: keep the original edges among the learned ones.
        refresh: training steps between two look-ups of the learned edges.
        dropout: share dropped after each hidden layer while training; "auto": 0.6 if
            the second view has nodes (of one kind) alone, else 0.5.
        edge_drop: share of the graph's own edges dropped at every step, drawn anew;
            "auto": 0.3 for nodes of one kind under "feature", else 0.
        feature_drop: share of the input's entries dropped at every step; "auto": 0.4
            where `dropout` is 0.6 by itself, else 0.
        feature_mask: share of the input columns hidden at every step, drawn anew.
        gain: factor on the first weights from features to embedding; a smaller start
            leaves more to learn; "auto": 0.7 for nodes of one kind, else 1.
        aggregate: how the views' embeddings become one: "concat", "mean", "sum".
        smoothing: n; Z + A^n Z is returned, Z for 0; "auto": 2 where `dropout` is 0.6.
        invariance: "mse" or "frobenius" (Eq. 1).
        regularizer: "covariance" (Eq. 4) or "orthogonality" (Eq. 7).
        invariance_weight: alpha.
        variance_weight: beta.
        covariance_weight: gamma; "auto": 2 for nodes of one kind under "feature",
            else 1.
        orthogonality_weight: lambda.
        unit_rows: scale the augmenters' weights to unit rows inside Eq. 5.
        standardize: standardise the columns of the embeddings inside the objective;
            "auto": for graphs only.
        epochs: a number (0: the untrained model), or "auto": 5 for many graphs,
            else the earliest within a standard error of the best at telling hidden
            links from random pairs, the untrained model included.
        max_epochs: the most that "auto" takes.
        patience: "auto" stops if the epoch to keep lies this far back, and none rises.
        tolerance: by how many standard errors an epoch may be behind the best to be
            kept in its place; "auto": 0.5 where `dropout` is 0.6 by itself, else 1.
        check_every: epochs between two looks at the held-out links.
        holdout: share of the edges that "auto" hides from training.
        batch_size: graphs per step where there are many; None for all at once.
        lr: learning rate.
        weight_decay: L2 penalty of Adam; "auto": 0.3 / N, at most 1e-4, for nodes
            of one kind under "feature", else 0.
        warmup_epochs: epochs over which the rate rises to `lr`.
        scaling: "standard" gives every dense column mean 0 and deviation 1, "none"
            leaves features as they are, "columns" scales unless they are 0/1 or
            sparse, "unit" also brings sparse ones to one unit, "length" lengthens all
            rows by one number if they are short; "auto": for nodes of one kind "length"
            under "feature", "unit" if alone in the second view; else "columns".
        structural_columns: how many to make where there are no features: 5 of degrees,
            then spectral ones (one graph: 69 by default) or one per degree (many: 5).
        device: "auto" (a GPU if there is one), "cpu", "cuda", ...
        random_state: same seed, same machine, same embeddings; None draws one.
        verbose: show a progress bar on a terminal.

    Attributes:
        method_: the trained `torch.nn` module.
        history_: one row per epoch: loss terms, effective rank and deviation of the
            embedding, and the score of held-out links where it was taken.
        epoch_: the epoch that was kept.
        chosen_: what "auto" stood for, by parameter.
        n_features_in_: number of feature columns.
    """

    def __init__(
        self,
        *,
        augment: AugmentName | Literal["auto"] = "auto",
        encoder: EncoderName | Literal["auto"] | nn.Module = "auto",
        out_channels: int = 128,
        hidden_channels: int | None = None,
        num_layers: int | Literal["auto"] = "auto",
        norm: NormName | Literal["auto"] | None = "auto",
        jump: JumpName | Literal["auto"] = "auto",
        readout: str = "sum",
        augment_channels: int = 256,
        augment_layers: int = 1,
        topology: TopologyName | Literal["auto"] = "auto",
        topology_layers: int = 2,
        edges_per_node: int | None = 16,
        edge_multiplier: float | None = None,
        symmetric: bool = True,
        candidates: CandidatesName = "auto",
        similarity: SimilarityName = "cosine",
        keep_edges: bool = False,
        refresh: int = 5,
        dropout: float | Literal["auto"] = "auto",
        edge_drop: float | Literal["auto"] = "auto",
        feature_drop: float | Literal["auto"] = "auto",
        feature_mask: float = 0.0,
        gain: float | Literal["auto"] = "auto",
        aggregate: AggregateName = "concat",
        smoothing: int | Literal["auto"] = "auto",
        invariance: InvarianceName = "mse",
        regularizer: RegularizerName = "covariance",
        invariance_weight: float = 1.0,
        variance_weight: float = 1.0,
        covariance_weight: float | Literal["auto"] = "auto",
        orthogonality_weight: float = 0.0,
        unit_rows: bool = False,
        standardize: bool | Literal["auto"] = "auto",
        epochs: int | Literal["auto"] = "auto",
        max_epochs: int = 500,
        patience: int = 100,
        tolerance: float | Literal["auto"] = "auto",
        check_every: int = 5,
        holdout: float = 0.05,
        batch_size: int | None = 128,
        lr: float = 1e-3,
        weight_decay: float | Literal["auto"] = "auto",
        warmup_epochs: int = 0,
        scaling: ScalingName | Literal["auto"] = "auto",
        structural_columns: int | None = None,
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
        self.readout = readout
        self.augment_channels = augment_channels
        self.augment_layers = augment_layers
        self.topology = topology
        self.topology_layers = topology_layers
        self.edges_per_node = edges_per_node
        self.edge_multiplier = edge_multiplier
        self.symmetric = symmetric
        self.candidates = candidates
        self.similarity = similarity
        self.keep_edges = keep_edges
        self.refresh = refresh
        self.dropout = dropout
        self.edge_drop = edge_drop
        self.feature_drop = feature_drop
        self.feature_mask = feature_mask
        self.gain = gain
        self.aggregate = aggregate
        self.smoothing = smoothing
        self.invariance = invariance
        self.regularizer = regularizer
        self.invariance_weight = invariance_weight
        self.variance_weight = variance_weight
        self.covariance_weight = covariance_weight
        self.orthogonality_weight = orthogonality_weight
        self.unit_rows = unit_rows
        self.standardize = standardize
        self.epochs = epochs
        self.max_epochs = max_epochs
        self.patience = patience
        self.tolerance = tolerance
        self.check_every = check_every
        self.holdout = holdout
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.warmup_epochs = warmup_epochs
        self.scaling = scaling
        self.structural_columns = structural_columns
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, data: Any, y: object = None) -> Self:
        """Learn from a graph, or from many.

        Args:
            data: a `torch_geometric.data.Data`, a `HeteroData`, or a list or dataset
                of `Data`.
            y: ignored; labels are never looked at.
        """
        self._fit(data)
        return self

    def fit_transform(self, data: Any, y: object = None) -> Embeddings:
        """Learn from a graph and embed it, as `transform`; `y` is ignored."""
        return self._embed(self._fit(data))

    def _fit(self, data: Any) -> Graph:
        """Learn, and return the graph as the model sees it."""
        parameters = self.get_params(deep=False)
        check_parameters(parameters)
        chosen = resolve_auto(parameters, level_of(data), bare=is_bare(data))
        parameters |= chosen
        preparation, graph = Preparation.fit(
            data, parameters["scaling"], self.structural_columns
        )
        config = TrainConfig(**{name: parameters[name] for name in TRAINING})
        total = config.max_epochs if config.epochs == "auto" else config.epochs
        device = pick_device(self.device)
        seed = self.random_state
        with (
            seeded(secrets.randbits(32) if seed is None else int(seed)),
            progress_bar(total, shown=self.verbose) as report,
            retain_heap(),
        ):
            method = build_for(parameters, preparation).to(device)
            graph = graph.to(device)
            note_unused_attributes(graph, method)
            warn_if_too_large(graph, parameters)
            self._set_search(method, graph)
            history, epoch = train(method, graph, config, report)
        # Only now: a fit that fails leaves the model as it was.
        self.method_, self.preparation_, self.chosen_ = method, preparation, chosen
        self.smoothing_ = parameters["smoothing"]
        self.history_, self.epoch_ = history, epoch
        self.n_features_in_ = graph.num_features
        return graph

    def _set_search(self, method: DSGRLMethod, graph: Graph) -> None:
        """Choose how learned edges are found in a graph of this size."""
        if method.topology is not None and method.topology.compares:
            method.topology.search = pick_search(
                self.candidates, graph, self.augment_channels
            )

    def transform(self, data: Any) -> Embeddings:
        """Embed data of the same columns, seen or unseen.

        Returns:
            One vector per node [N, d]; per graph [B, d] for a list of graphs; per
            node type {type: [N_type, d]} for a `HeteroData`.
        """
        return self._embed(self._prepare(data))

    def _embed(self, graph: Graph) -> Embeddings:
        z = smooth(embed_all(self.method_, graph), graph.adjacency, self.smoothing_)
        if self.preparation_.schema is None:
            return z.cpu().numpy()
        kinds = zip(self.preparation_.schema.types, graph.split(z), strict=True)
        return {kind: rows.cpu().numpy() for kind, rows in kinds}

    def views(self, data: Any) -> tuple[Any, Any]:
        """Return the two views, learned or not, to inspect or use elsewhere.

        Returns:
            Two `View`s (features, edges, weights); for a list of graphs two lists of
            them; for a `HeteroData` two `HeteroView`s.
        """
        graph = self._prepare(data)
        with torch.no_grad():
            one, two = self.method_.views(graph)
        return as_views(graph, *one), as_views(graph, *two)

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
            "input": self.preparation_.to_json(),
        }
        state = self.method_.state_dict(prefix="method.")
        scales = self.preparation_.tensors()
        state.update({f"scale.{name}": value for name, value in scales.items()})
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
            scales, state = split_state(saved.state)
            model.preparation_ = Preparation.from_json(saved.config["input"], scales)
            parameters |= model.chosen_  # whatever "auto" may stand for by now
            model.method_ = build_for(parameters, model.preparation_)
            model.method_.load_state_dict(state)
        except InputError:
            raise
        except (KeyError, TypeError, RuntimeError, AttributeError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise InputError(
                f"{path}: the saved model is broken ({reason}): save it again"
            ) from error
        model.history_ = saved.history
        model.method_.to(pick_device(model.device)).eval()
        return model

    def _prepare(self, data: Any) -> Graph:
        """Check that data has the columns of training, and scale them."""
        check_is_fitted(self, "method_")
        device = next(self.method_.parameters()).device
        graph = self.preparation_.apply(data).to(device)
        self._set_search(self.method_, graph)
        return graph
