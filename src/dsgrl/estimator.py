"""scikit-learn estimators of all methods; `DSGRL` is the default one."""

import inspect
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from dsgrl.augment.inspect import as_views
from dsgrl.graph import Graph
from dsgrl.methods import METHODS
from dsgrl.methods.config import FitConfig
from dsgrl.methods.dsgrl_config import DSGRLConfig
from dsgrl.parameters import describe
from dsgrl.train.checkpoint import Checkpoints
from dsgrl.train.distributed import current_ranks
from dsgrl.train.fit import fit_graph
from dsgrl.train.fitted import Embeddings, Fitted
from dsgrl.typing import InputError

ATTRIBUTES = """
Attributes:
    method_: the trained `torch.nn` module.
    history_: one row per epoch: loss terms, effective rank and standard deviation of
        the embedding, and the AUC of held-out links if it was computed.
    epoch_: the kept epoch.
    chosen_: the value that "auto" was replaced by, by parameter.
    seed_: the random seed, also if none was given.
    n_features_in_: number of feature columns.
    fitted_: all of it in one object, the result of `dsgrl.train.fit`.
"""


class GraphEmbedder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A method as a scikit-learn estimator with the parameters of its `Config`.

    `embedder("cca-ssg")` returns the class of any registered method.
    """

    method_name: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if issubclass(cls, FitConfig):
            arguments = describe(cls).replace("\n", "\n    ")
            summary = inspect.cleandoc(cls.__doc__ or "")
            cls.__doc__ = f"{summary}\n\nArgs:\n    {arguments}\n{ATTRIBUTES}"

    def fit(
        self,
        data: Any,
        y: object = None,
        *,
        checkpoint: Checkpoints | str | Path | None = None,
    ) -> Self:
        """Fit the method to a graph, or to many.

        Args:
            data: a `torch_geometric.data.Data`, a `HeteroData`, or a list or dataset
                of `Data`.
            y: ignored; labels are not used.
            checkpoint: saves training and resumes it, e.g.
                `Checkpoints("run", every=10, resume=True)`; or just a folder.
        """
        self._fit(data, checkpoint)
        return self

    def fit_transform(
        self,
        data: Any,
        y: object = None,
        *,
        checkpoint: Checkpoints | str | Path | None = None,
    ) -> Embeddings:
        """Fit to a graph and embed it, as `fit` and `transform`; `y` is ignored."""
        graph = self._fit(data, checkpoint)
        return self.fitted_.embed_graph(graph, current_ranks())

    def _fit(self, data: Any, checkpoint: Checkpoints | str | Path | None) -> Graph:
        """Fit; return the data as the method sees it."""
        if isinstance(checkpoint, str | Path):
            checkpoint = Checkpoints(checkpoint)
        fitted, graph = fit_graph(
            self.method_name, data, self._config(), checkpoints=checkpoint
        )
        self._remember(fitted)
        return graph

    def transform(self, data: Any) -> Embeddings:
        """Embed data with the columns of training, seen or unseen.

        Returns:
            One vector per node [N, d]; per graph [B, d] for a list of graphs; per
            node type {type: [N_type, d]} for a `HeteroData`.
        """
        check_is_fitted(self, "fitted_")
        return self.fitted_.embed(data)

    def save(self, path: str | Path) -> None:
        """Write a model folder: safetensors, config.json, history.csv, model card."""
        check_is_fitted(self, "fitted_")
        self.fitted_.save(Path(path))

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        encoder: nn.Module | None = None,
        device: str = "auto",
    ) -> Self:
        """Read a model folder.

        Args:
            path: the folder.
            encoder: a module like the one used in training, if that was the user's.
            device: device of the loaded model; it may differ from that of training.
        """
        fitted = Fitted.load(Path(path), encoder=encoder, device=device)
        if fitted.name != cls.method_name:
            raise InputError(
                f"{path}: a model of method '{fitted.name}', expected "
                f"'{cls.method_name}': load it with load_model(path)"
            )
        return cls._of(fitted)

    @classmethod
    def _of(cls, fitted: Fitted) -> Self:
        model = cls(**fitted.given.values())
        model._remember(fitted)
        return model

    def _config(self) -> FitConfig:
        return METHODS[self.method_name].Config(**self.get_params(deep=False))

    def _remember(self, fitted: Fitted) -> None:
        """Store the result of a fit; a fit that fails does not change the model."""
        self.fitted_ = fitted
        self.method_, self.preparation_ = fitted.method, fitted.preparation
        self.history_, self.epoch_ = fitted.history, fitted.epoch
        self.chosen_, self.seed_ = fitted.chosen, fitted.seed
        self.n_features_in_ = sum(known.count for known in fitted.preparation.columns)


class _Views:
    """One name for the method `model.views(data)` and the parameter `views`.

    The parameter is stored in the instance. Reading `model.views` gives an object that
    can be called with data and has the attributes of the parameter.
    """

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        return _ViewsOf(model)

    def __set__(self, model: Any, value: Any) -> None:
        model.__dict__["views"] = value


class _ViewsOf:
    """The views of one model."""

    def __init__(self, model: "DSGRL") -> None:
        self._model = model

    def __call__(self, data: Any) -> tuple[Any, Any]:
        """Return the two views, learned or given.

        Returns:
            Two `View`s (features, edges, weights); for a list of graphs two lists of
            them; for a `HeteroData` two `HeteroView`s.
        """
        check_is_fitted(self._model, "fitted_")
        graph = self._model.fitted_.prepare(data)
        with torch.no_grad():
            method: Any = self._model.method_
            one, two = method.views(graph)
        return as_views(graph, *one), as_views(graph, *two)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model.__dict__["views"], name)

    def __repr__(self) -> str:
        return repr(self._model.__dict__["views"])


class DSGRL(GraphEmbedder, DSGRLConfig):
    """Embeddings of the nodes of a graph, or of whole graphs, learned without labels.

    One shared encoder embeds two views of the graph. The views are learned (features,
    edges or both) or given. Training makes their embeddings similar and prevents
    collapse. What is learned is joined with what the data says without training
    (`floor`).
    """

    method_name: ClassVar[str] = "dsgrl"
    views = _Views()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; those of a views object as `views__edge_drop`."""
        views = self.__dict__["views"]
        found: dict[str, Any] = super().get_params(deep=False) | {"views": views}
        if deep:
            for name in ("views", "epochs", "batch_size"):
                if hasattr(found[name], "get_params"):
                    nested = found[name].get_params().items()
                    found |= {f"{name}__{key}": value for key, value in nested}
        return found

    @classmethod
    def paper(cls, augment: str = "feature", **changes: Any) -> "DSGRL":
        """Return the paper's setting for nodes (its datasets CS and Photo).

        Args:
            augment: "feature", "topology" or "both".
            **changes: parameters that override the paper's.
        """
        return cls(**{**paper_settings(augment), **changes})


def paper_settings(augment: str) -> dict[str, Any]:
    """Return the parameters of the paper's setting for nodes."""
    from dsgrl.augment import FIGURES

    if augment not in FIGURES:
        raise InputError(
            f"augment={augment!r}: expected one of {', '.join(map(repr, FIGURES))}"
        )
    views = FIGURES[augment](edge_drop=0.0, feature_drop=0.0)
    if augment != "topology":
        views.set_params(orthogonality_weight=1.0)
    if augment != "feature":
        views.set_params(
            edges_per_node=None, similarity="inner", weights="raw", symmetric=False
        )
    return {
        "views": views,
        "encoder": "gcn",
        "out_channels": 64,
        "num_layers": 2,
        "norm": None,
        "jump": "sum",
        "dropout": 0.5,
        "gain": 1.0,
        "smoothing": 0,
        "floor": False,
        "lr": 1e-3,
        "readout": "sum",
        "covariance_weight": 1.0,
        "standardize": False,
        "epochs": 100,
        "weight_decay": 0.0,
        "scaling": "none",
    }


def _class_name(name: str) -> str:
    return "".join(part.upper() for part in name.split("-"))


def embedder(name: str) -> type[Any]:
    """Return the estimator class of a registered method.

    Args:
        name: a key of `METHODS`, e.g. "cca-ssg".

    Raises:
        InputError: if there is no such method.
    """
    if name not in METHODS:
        raise InputError(
            f"unknown method '{name}', expected one of {', '.join(METHODS)}"
        )
    if name not in _EMBEDDERS:
        method = METHODS[name]
        made = type(
            _class_name(name),
            (GraphEmbedder, method.Config),
            {
                "__doc__": f"{name}: {method.summary}.",
                "__module__": __name__,
                "method_name": name,
            },
        )
        # Pickle finds the class by its name in the module.
        globals()[made.__name__] = made
        _EMBEDDERS[name] = made
    return _EMBEDDERS[name]


_EMBEDDERS: dict[str, type[Any]] = {"dsgrl": DSGRL}


def load_model(
    path: str | Path, *, encoder: nn.Module | None = None, device: str = "auto"
) -> Any:
    """Read a model folder of any method; see `GraphEmbedder.load`."""
    fitted = Fitted.load(Path(path), encoder=encoder, device=device)
    return embedder(fitted.name)._of(fitted)
