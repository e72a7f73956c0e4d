"""What holds for every method of `METHODS`; a new one is tested by its row there."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from dsgrl.augment import TwoSteps
from dsgrl.bench.systems import SYSTEMS
from dsgrl.estimator import embedder, load_model
from dsgrl.graph import Spec, as_graph
from dsgrl.methods import METHODS, FitConfig, Method, StopByLinks
from dsgrl.parameters import search_space
from dsgrl.train import Training, begin, fit, seeded
from dsgrl.typing import InputError
from samples import LEVELS, make_data, make_graphs, permute

# Small and quick, for methods that have these.
SMALL = {"out_channels": 6, "epochs": 3, "walks_per_node": 4, "walk_length": 12}
# Layers that share the columns: each needs some, or ReLU leaves a layer without any.
SMALL_OF: dict[str, dict[str, Any]] = {
    "graphcl": {"out_channels": 24},
    "joao": {"out_channels": 24},
    "infograph": {"out_channels": 40},
    "simgrace": {"out_channels": 40},
}
CASES = [
    (name, level)
    for name, method in METHODS.items()
    for level in LEVELS
    if level in method.levels and "labels" not in method.needs
]
TRAINED = [name for name, method in METHODS.items() if method.is_trained]
every_method = pytest.mark.parametrize("name", METHODS)
every_case = pytest.mark.parametrize(("name", "level"), CASES)
every_trained_method = pytest.mark.parametrize("name", TRAINED)
every_trained_case = pytest.mark.parametrize(
    ("name", "level"), [case for case in CASES if case[0] in TRAINED]
)
every_trained_method_of_nodes = pytest.mark.parametrize(
    "name", [name for name in TRAINED if "node" in METHODS[name].levels]
)


def config_of(name: str, **changes: Any) -> Any:
    kind = METHODS[name].Config
    given = {**SMALL, **SMALL_OF.get(name, {}), **changes}
    return kind(**{k: v for k, v in given.items() if k in kind.declared()})


def data_of(level: str, seed: int = 0) -> Any:
    # Some more graphs: a batch has two at least.
    return make_graphs(seed=seed) if level == "graph" else make_data(level, seed)


def stacked(z: Any) -> Any:
    return np.concatenate([z[k] for k in sorted(z)]) if isinstance(z, dict) else z


def built(name: str, level: str) -> tuple[Method, Any]:
    with begin(name, data_of(level), config_of(name)) as begun:
        return begun.training.method, begun.training.graph


@every_method
def test_method__declares_what_bench_and_tuning_ask_for(name: str) -> None:
    method = METHODS[name]
    assert method.levels
    assert method.levels <= set(LEVELS)
    assert method.summary
    assert method.__doc__
    for level in method.levels:
        typical = Spec(level=level, in_channels=(3,), num_nodes=9, largest=9)
        config = method.Config().completed(typical)
        for low, high, scale in search_space(config, level).values():
            assert low < high
            assert scale == "linear" or low > 0
    for form in method.forms or {name: None}:
        assert SYSTEMS[form].method == name
        if not method.is_trained:
            assert f"random-{form}" not in SYSTEMS
            continue
        assert {"hops", "histograms"} <= set(SYSTEMS[form].controls)
        untrained = SYSTEMS[form].controls[0]
        assert SYSTEMS[untrained].settings["epochs"] == 0


@every_method
def test_method__every_parameter_is_declared_and_its_default_allowed(name: str) -> None:
    kind = METHODS[name].Config
    kind().check()
    for key, declared in kind.declared().items():
        assert declared.meaning, key
        assert declared.rule.expected, key
        if key not in ("device",):
            with pytest.raises(InputError, match=f"{key}=.*expected"):
                kind(**{key: {"nonsense": 1}}).check()


@every_case
def test_method__the_whole_search_space_is_allowed(name: str, level: Any) -> None:
    typical = Spec(level=level, in_channels=(3,), num_nodes=9, largest=9)
    config = METHODS[name].Config().completed(typical)
    space = search_space(config, level)
    for end in (0, 1):
        changed = config.replace()
        for key, span in space.items():
            changed.set_params(**{key: span[end]})
        changed.check()


@every_trained_case
def test_method__one_step_is_finite_and_reaches_everything_that_learns(
    name: str, level: str
) -> None:
    method, graph = built(name, level)
    method.train()
    config = config_of(name).resolved(Spec.of(graph))
    (optimizer, *_) = method.optimizers(config)
    learned = {p for group in optimizer.param_groups for p in group["params"]}
    totals = dict.fromkeys(learned, 0.0)
    for batch in method.batches(graph, config):
        method.zero_grad()
        loss = method.training_loss(batch)
        assert loss.total.isfinite()
        assert not loss.z.requires_grad
        loss.backward()
        for parameter in learned:
            if parameter.grad is not None:
                totals[parameter] += float(parameter.grad.abs().max())
    largest = max(totals.values())
    unreached = [
        key
        for key, parameter in method.named_parameters()
        if parameter in totals and totals[parameter] <= 1e-7 * largest
    ]
    assert unreached == []


@every_trained_case
def test_method__steps_move_everything_that_learns(name: str, level: str) -> None:
    """Whatever the number of optimisers; none has a parameter of another."""
    method, graph = built(name, level)
    config = config_of(name).resolved(Spec.of(graph))
    optimizers = method.optimizers(config)
    owned = [p for o in optimizers for group in o.param_groups for p in group["params"]]
    assert len(owned) == len({*owned})
    assert {*owned} == {p for p in method.parameters() if p.requires_grad}
    before = {key: p.detach().clone() for key, p in method.named_parameters()}
    method.train()
    for _ in range(2):
        for batch in method.batches(graph, config):
            method.step(batch, optimizers)
    unmoved = [
        key
        for key, p in method.named_parameters()
        if p.requires_grad and torch.equal(p, before[key])
    ]
    assert unmoved == []


@every_trained_method_of_nodes
def test_method__descent_lowers_the_loss(name: str, community_graph: Any) -> None:
    config = config_of(name, epochs=60, lr=0.01)
    losses = [row["loss"] for row in fit(name, community_graph, config).history]
    assert sum(losses[-5:]) < 0.9 * sum(losses[:5])


# Ties for the last edges of a node are broken by its place: take all edges.
ALL_EDGES = {("dsgrl", "hetero"): {"views": TwoSteps(edges_per_node=99)}}


@every_case
def test_method__permuting_nodes_permutes_the_embedding(name: str, level: str) -> None:
    data = data_of(level)
    fitted = fit(name, data, config_of(name, **ALL_EDGES.get((name, level), {})))
    moved, orders = permute(data)
    if not fitted.method.inductive:
        with pytest.raises(InputError, match="another graph"):
            fitted.embed(moved)
        return
    z, found = fitted.embed(data), fitted.embed(moved)
    if isinstance(z, dict):
        z = {kind: z[kind][orders[kind].numpy()] for kind in z}
    elif level == "node":
        z = z[orders.numpy()]
    np.testing.assert_allclose(stacked(found), stacked(z), rtol=1e-3, atol=1e-4)


@every_trained_method
def test_method__construction_does_not_reseed(name: str) -> None:
    level = min(METHODS[name].levels)
    spec = Spec.of(as_graph(data_of(level)))
    config = config_of(name).resolved(spec)
    one, other = (
        list(METHODS[name].build(config, spec).parameters()) for _ in range(2)
    )
    assert any(not torch.equal(a, b) for a, b in zip(one, other, strict=True))


@every_case
def test_method__same_seed_same_bits(name: str, level: str) -> None:
    def embed(seed: int) -> Any:
        fitted = fit(name, data_of(level), config_of(name, random_state=seed))
        return stacked(fitted.embed(data_of(level)))

    torch.manual_seed(11)
    first = embed(1)
    torch.manual_seed(22)
    np.testing.assert_array_equal(embed(1), first)
    if METHODS[name].is_trained:
        assert not np.allclose(embed(2), first)
    else:
        np.testing.assert_array_equal(embed(2), first)


@every_case
def test_method__reads_no_label(name: str, level: str) -> None:
    plain, poisoned = data_of(level), data_of(level)
    for part in poisoned if level == "graph" else [poisoned]:
        for store in part.node_stores:
            store["y"] = "poison"
    found = [stacked(fit(name, d, config_of(name)).embed(d)) for d in (plain, poisoned)]
    np.testing.assert_array_equal(*found)


@every_trained_method_of_nodes
def test_method__stops_by_held_out_links(name: str, community_graph: Any) -> None:
    config = config_of(name, epochs=StopByLinks(max_epochs=20))
    estimator = embedder(name)(**config.values())
    estimator.fit(community_graph)
    looked = [row["epoch"] for row in estimator.history_ if "link_auc" in row]
    assert looked == [0, 5, 10, 15, 20]
    assert 0 <= estimator.epoch_ <= 20
    assert not estimator.method_.training


@every_case
def test_method__saves_loads_and_embeds_unseen_data(
    name: str, level: str, tmp_path: Path
) -> None:
    data, unseen = data_of(level), data_of(level, seed=7)
    model = embedder(name)(**config_of(name).values()).fit(data)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert (loaded.chosen_, loaded.seed_) == (model.chosen_, model.seed_)
    given = [data, unseen] if METHODS[name].inductive else [data]
    for each in given:
        np.testing.assert_array_equal(
            stacked(loaded.transform(each)), stacked(model.transform(each))
        )
    if not METHODS[name].inductive:
        with pytest.raises(InputError, match="another graph"):
            loaded.transform(unseen)


@every_method
def test_embedder__is_a_scikit_learn_estimator(name: str) -> None:
    kind = embedder(name)
    model = kind(random_state=5)
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    assert {*METHODS[name].Config.declared()} == {*model.get_params(deep=False)}
    assert "out_channels" not in model.get_params() or "out_channels" in kind.__doc__


@pytest.mark.slow
@every_trained_case
def test_training__resumed_from_its_state_is_the_same_to_the_last_bit(
    name: str, level: str
) -> None:
    """Whatever else happens in between, and into new objects."""
    config = config_of(name, epochs=6)

    def start() -> Any:
        return begin(name, data_of(level), config)

    with start() as begun:
        begun.training.run()
        expected = begun.training.method.state_dict()
        history = begun.training.history
    with start() as begun:
        for _ in range(2):
            begun.training.run_epoch()
        state = begun.training.state_dict()
        for _ in range(3):
            begun.training.run_epoch()
    with start() as begun:
        torch.rand(99)
        training: Training = begun.training
        training.load_state_dict(state)
        training.run()
    assert training.history == history
    for key, value in training.method.state_dict().items():
        assert torch.equal(value, expected[key]), key


# Names that parameters of methods may have.
WORDS = (
    "batch",
    "layer",
    "prelu",
    "uniform",
    "mlp",
    "gat",
    "gin",
    "max",
    "nodes",
    "heat",
    "neighbors",
)
# A small change of these shows late, or on large graphs only.
FAR: dict[str, Any] = {
    "prior_weight": 3.0,
    "edges_per_node": 2,
    "metapaths": "film-person-film;tag-film-tag",
}
# Settings that give a parameter a meaning, and parameters about graphs of many.
BESIDE: dict[str, dict[str, Any]] = {
    **{key: {"num_layers": 2} for key in ("dropout", "hidden_channels", "norm")},
    **{key: {"encoder": "gat"} for key in ("num_heads", "attention_drop")},
    "heat_time": {"diffusion": "heat"},
}
OF_GRAPHS = {"readout"}


def another_value(value: Any, kind: type[FitConfig], key: str) -> Any:
    """Return a value that the parameter allows and that is not the given one."""
    tries: tuple[Any, ...] = (5, *WORDS)
    if key in FAR:
        tries = (FAR[key],)
    elif isinstance(value, bool):
        tries = (not value,)
    elif isinstance(value, int | float):
        tries = (value + 1,) if value >= 1 else (value + 0.2, value / 2)
    accepts = kind.declared()[key].rule.accepts
    return next(each for each in tries if each != value and accepts(each))


@pytest.mark.slow
@every_case
def test_method__every_parameter_of_its_own_has_an_effect(
    name: str, level: str
) -> None:
    """An option that changes nothing is not wired; those of DSGRL have a test."""
    if name == "dsgrl":
        pytest.skip("see tests/test_estimator.py")
    kind, data = METHODS[name].Config, data_of(level)
    inherited = FitConfig.declared()
    own = [key for key in kind.declared() if key not in inherited]
    standard = config_of(name).resolved(Spec.of(as_graph(data)))

    def embed(**changes: Any) -> Any:
        # Enough epochs for a chance to make a difference on four columns.
        config = config_of(name, **{"epochs": 8, **changes})
        with seeded(0):
            return stacked(fit(name, data, config).embed(data))

    plain = embed()
    for key in own:
        if key in OF_GRAPHS and level != "graph":
            continue
        beside = BESIDE.get(key, {})
        before = embed(**beside) if beside else plain
        other = another_value(getattr(standard, key), kind, key)
        z = embed(**{**beside, key: other})
        assert z.shape != before.shape or abs(z - before).max() > 1e-6, key
