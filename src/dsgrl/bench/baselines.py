"""Fits a baseline: what `DSGRL` is for our method, without the scikit-learn face."""

from dataclasses import asdict, fields
from typing import Any

from dsgrl.graph.prepare import Preparation
from dsgrl.methods import Baseline
from dsgrl.train import History, TrainConfig, seeded, train
from dsgrl.train.allocator import retain_heap
from dsgrl.train.batches import embed_all
from dsgrl.train.device import pick_device
from dsgrl.typing import FloatArray

# Of every baseline, besides its own parameters and those of training.
_OF_ALL = {"scaling": "columns", "device": "auto", "random_state": 0}


def baseline_parameters(method: type[Baseline]) -> dict[str, Any]:
    """Return every parameter of a baseline with its default."""
    training = asdict(TrainConfig())
    if "graph" not in method.levels:
        # It counts graphs: of a single one it says nothing.
        del training["batch_size"]
    return {**training, **_OF_ALL, **method.defaults}


def fit_baseline(
    method: type[Baseline], data: Any, parameters: dict[str, Any]
) -> tuple[FloatArray, History, int]:
    """Learn from a dataset and embed it.

    Returns:
        One vector per row [N, D], the history and the epoch that was kept.
    """
    method.check(parameters)
    _, graph = Preparation.fit(data, parameters["scaling"])
    names = {field.name for field in fields(TrainConfig)} & parameters.keys()
    config = TrainConfig(**{name: parameters[name] for name in names})
    device = pick_device(parameters["device"])
    with seeded(parameters["random_state"]), retain_heap():
        model = method.from_parameters(parameters, graph.num_features).to(device)
        graph = graph.to(device)
        history, epoch = train(model, graph, config)
        z = embed_all(model, graph)
    return z.cpu().numpy(), history, epoch
