"""Recipes: every one loads, says what the paper says, and mistakes are reported."""

import re
from pathlib import Path
from typing import Any

import pytest

from dsgrl.augment import VIEWS
from dsgrl.bench import recipes
from dsgrl.bench.loading import OtherSystemError, load_recipe
from dsgrl.bench.recipes import (
    DEFAULT,
    list_families,
    list_recipes,
    merge,
    parse_settings,
    read_recipe,
    write_recipe,
)
from dsgrl.bench.systems import SYSTEMS, typical_spec
from dsgrl.bench.tables import load_paper
from dsgrl.datasets.table import DATASETS
from dsgrl.estimator import DSGRL
from dsgrl.methods import METHODS, StopByLinks
from dsgrl.typing import InputError

RECIPES = list_recipes()
FACTS = Path(__file__).parents[3] / "shared" / "paper" / "FACTS.md"
# The appendix's columns, in its order.
COLUMNS = {
    "D1": "views__augment_channels",
    "D": "out_channels",
    "L": "num_layers",
    "alpha": "invariance_weight",
    "beta": "variance_weight",
    "gamma": "covariance_weight",
    "lambda": "views__orthogonality_weight",
    "dropout": "dropout",
    "lr": "lr",
    "epochs": "epochs",
}


def users_of(recipe: str) -> list[str]:
    """Name the systems that a recipe is for, its controls included."""
    owner = recipe.split("/")[1]
    return [name for name, system in SYSTEMS.items() if system.recipes == owner]


def load(name: str) -> dict[str, Any]:
    """Read a recipe for the first system that it is for."""
    return load_recipe(name, users_of(name)[0], DATASETS[name.split("/")[2]].level)


@pytest.mark.parametrize("name", RECIPES)
def test_recipe__sets_parameters_of_the_systems_it_is_for(name: str) -> None:
    dataset = name.split("/")[2]
    level = DATASETS[dataset].level
    first, *controls = users_of(name)
    recipe, system = load(name), SYSTEMS[first]
    values = system.complete(system.configure(recipe, level), level)
    assert recipe.items() <= values.items()
    if system.method == "dsgrl":
        # It names the views that make the system what it is.
        named = {k: v for k, v in read_recipe(name).items() if k not in recipe}
        assert named == {"views": values["views"]}
    for control in controls:
        here = SYSTEMS[control]
        kept = load_recipe(name, control, level)
        assert kept.items() <= recipe.items()
        left_out = recipe.keys() - kept.keys()
        assert not left_out & here.parameters(level).keys() - here.fixed


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("paper")])
def test_recipe__of_the_paper_has_a_number_to_compare_with(name: str) -> None:
    _, augment, dataset = name.split("/")
    assert any(
        dataset in {column["dataset"] for column in table["columns"]}
        and f"dsgrl-{augment}" in {row["method"] for row in table["rows"]}
        for table in load_paper().values()
    )


# How learned edges are looked for, where it runs: not what the method is. On many
# graphs learned edges are looked up at every visit, as the authors do.
OPEN = {"views__candidates", "device"}


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("paper")])
def test_recipe__of_the_paper_leaves_nothing_to_our_defaults(name: str) -> None:
    system = SYSTEMS[users_of(name)[0]]
    level = DATASETS[name.split("/")[2]].level
    values = system.complete(system.configure(load(name), level), level)
    left = {key for key, value in values.items() if value == "auto"}
    # Without a floor, "auto" is the sum.
    assert not values["floor"]
    # All nodes at once, where memory allows.
    of_nodes = set() if level == "graph" else {"batch_size"}
    assert left <= OPEN | {"views__refresh", "readout"} | of_nodes


@pytest.mark.parametrize("name", [n for n in RECIPES if n.startswith("published")])
def test_recipe__of_a_baseline_leaves_nothing_open_and_names_its_source(
    name: str,
) -> None:
    system = SYSTEMS[users_of(name)[0]]
    level = DATASETS[name.split("/")[2]].level
    values = system.complete(system.configure(load(name), level), level)
    # All nodes at once, where memory allows.
    open_ones = {"device"} if level == "graph" else {"device", "batch_size"}
    assert {key for key, value in values.items() if value == "auto"} <= open_ones
    text = (recipes.FOLDER / f"{name}.toml").read_text()
    assert text.startswith("# ")
    assert "https://" in text


def test_recipes__there_is_one_for_every_number_of_the_paper() -> None:
    wanted = {
        f"paper/{row['method'].removeprefix('dsgrl-')}/{column['dataset']}"
        for table in load_paper().values()
        for column in table["columns"]
        for row in table["rows"]
        if row["method"].startswith("dsgrl-")
    }
    assert wanted == {name for name in RECIPES if name.startswith("paper/")}
    assert list_families()[:2] == [DEFAULT, "paper"]


def test_recipe__values_one_can_look_up() -> None:
    photo = load("paper/feature/photo")
    assert (photo["views__augment_channels"], photo["out_channels"], photo["lr"]) == (
        256,
        64,
        0.001,
    )
    assert photo["jump"] == "sum"
    assert photo["norm"] is None
    assert photo["scaling"] == "none"
    collab = load("paper/topology/collab")
    assert (collab["batch_size"], collab["encoder"], collab["epochs"]) == (32, "gin", 1)
    assert load("paper/feature/imdb")["covariance_weight"] == 0.07


def tables_of_facts() -> list[tuple[str, str, dict[str, float]]]:
    """Augmentation, dataset and values of every row of the appendix's tables."""
    found = []
    augment, head = "", []
    for line in FACTS.read_text().splitlines():
        if match := re.match(
            r"(?:Node|Graph) .*, (feature|topology) augmentation", line
        ):
            augment = match[1]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "dataset":
            head = cells[1:]
        elif head and line.startswith("| ") and len(cells) == len(head) + 1:
            values = map(float, cells[1:])
            row = {COLUMNS[key]: v for key, v in zip(head, values, strict=True)}
            found.append((augment, cells[0].lower(), row))
        elif not line:
            head = []
    return found


@pytest.mark.skipif(not FACTS.exists(), reason="the paper is not at hand")
def test_recipes__have_the_values_of_the_appendix() -> None:
    rows = tables_of_facts()
    assert len(rows) == 8 + 6 + 8
    for augment, dataset, values in rows:
        recipe = load(f"paper/{augment}/{dataset}")
        if augment == "topology":
            # Eq. 5 is about the feature augmenters: lambda has no effect here.
            del values["views__orthogonality_weight"]
            assert "views__orthogonality_weight" not in recipe
        assert {key: recipe[key] for key in values} == values, dataset
        assert values.keys() >= {"lr", "dropout"}


def write(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("learning_rat = 0.1", "unknown key 'learning_rat'"),
        ("drop_out = 0.1", ": did you mean 'dropout'? expected"),
        ("[views]\nedge_dorp = 0.1", ": did you mean 'edge_drop'? expected"),
        ("[views]\nedges_per_node = 4", "expected a parameter of LearnedFeatures"),
        ("lr = -1.0", "lr=-1.0: expected 'auto' or a number above 0"),
        ("[epochs]\npatience = 0", "epochs__patience=0: expected a whole number"),
        ("epochs = 3\nepochs__patience = 5", "epochs=3: expected 'auto' beside"),
        ("lr = ", "not a TOML file"),
    ],
)
def test_load__a_mistake_is_reported_in_one_line(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        load_recipe(write(tmp_path, text), "dsgrl-feature", "node")
    assert said in str(caught.value)
    assert "own.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("word", ["learned_feature", 3])
@pytest.mark.parametrize("key", ["augment", "views"])
def test_load__unknown_views_are_reported(
    tmp_path: Path, key: str, word: object
) -> None:
    for more in ("", "\nedge_drop = 0.1", "\n[epochs]\npatience = 5"):
        path = write(tmp_path, f"{key} = {word!r}{more}")
        with pytest.raises(InputError, match=f"{key}={word!r}: expected"):
            load_recipe(path, "dsgrl", "node")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("edge_dorp = 0.1", "unknown key 'edge_dorp': did you mean 'edge_drop'?"),
        ('augment = "feature"', "is for dsgrl (it sets 'augment')"),
        ('topology = "none"', "is for dsgrl (it sets 'topology')"),
        ("augment_channels = 8", "is for dsgrl (it sets 'augment_channels')"),
        ('[views]\nkind = "node_alone"', "is for dsgrl (it sets 'views')"),
        ("edge_drop = 1.5", "edge_drop=1.5: expected a share from 0 to below 1"),
    ],
)
def test_load__a_baselines_recipe_has_the_baselines_keys(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        load_recipe(write(tmp_path, text), "cca-ssg", "node")
    assert said in str(caught.value)
    good = write(tmp_path, "decorrelation_weight = 0.5\nnorm = 'none'")
    settings = load_recipe(good, "cca-ssg", "node")
    assert settings == {"decorrelation_weight": 0.5, "norm": None}
    with pytest.raises(OtherSystemError, match="is for cca-ssg"):
        load_recipe(good, "dsgrl-feature", "node")


@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize(
    "method", [name for name, system in SYSTEMS.items() if system.method == "dsgrl"]
)
def test_load__views_of_another_system_are_refused(
    tmp_path: Path, views: str, method: str
) -> None:
    system = SYSTEMS[method]
    path = write(tmp_path, f'[views]\nkind = "{views}"\nedge_drop = 0.25')
    own = system.parameters("node")["views"]
    takes_any = not system.fixed & {"views"}
    # What has another graph in the place of a learned one takes its recipe.
    is_control = views == "learned_graph" and not own.startswith("learned_")
    if views == own or takes_any or is_control:
        config = system.configure(load_recipe(path, method, "node"), "node")
        values = system.complete(config, "node")
        assert values["views__edge_drop"] == 0.25
        assert values["views"] == (views if takes_any else own)
    else:
        with pytest.raises(OtherSystemError, match=f"is for views '{views}'"):
            load_recipe(path, method, "node")


def test_load__an_unknown_name_is_reported_with_a_near_one() -> None:
    with pytest.raises(InputError, match="did you mean 'paper/feature/photo'"):
        read_recipe("paper/features/photo")
    with pytest.raises(InputError, match="no recipe"):
        read_recipe("nowhere.toml")


def test_merge__command_line_overrides_recipe_overrides_default(
    tmp_path: Path,
) -> None:
    system = SYSTEMS["dsgrl-feature"]
    defaults = system.parameters("node")
    path = write(tmp_path, "lr = 0.5\ndropout = 0.25\n[views]\nedge_drop = 0.125")
    recipe = load_recipe(path, "dsgrl-feature", "node")
    chosen = merge(recipe, parse_settings(["lr=0.125"]))
    merged = system.complete(system.configure(chosen, "node"), "node")
    assert merged["lr"] == 0.125
    assert merged["dropout"] == 0.25
    assert merged["views__edge_drop"] == 0.125
    rest = merged.keys() - {"lr", "dropout", "views__edge_drop"}
    assert {key: merged[key] for key in rest} == {key: defaults[key] for key in rest}
    assert defaults == system.parameters("node")


def test_merge__other_views_take_away_what_was_said_of_the_first() -> None:
    recipe = {"views": "nearest", "views__by": "neighbors", "lr": 0.5}
    assert merge(recipe, {"views": "node_alone"}) == {"lr": 0.5, "views": "node_alone"}
    assert merge(recipe, {"augment": "both"}) == {"lr": 0.5, "augment": "both"}
    assert merge(recipe, {"views__by": "features"})["views"] == "nearest"
    stop = {"epochs": "auto", "epochs__patience": 5}
    assert merge(stop, {"epochs": 3}) == {"epochs": 3}
    assert merge({"epochs": 3}, {"epochs": "auto", "epochs__patience": 5}) == stop


@pytest.mark.parametrize("layer", [0, 1])
def test_merge__an_unknown_key_fails_in_any_layer(layer: int) -> None:
    layers: list[dict[str, Any]] = [{}, {}]
    layers[layer] = {"dropuot": 0.5}
    with pytest.raises(InputError, match="did you mean 'dropout'"):
        SYSTEMS["dsgrl-feature"].configure(merge(*layers), "node")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("lr=1e-2", 0.01),
        ("num_layers = 3", 3),
        ("views.keep_edges=true", True),
        ("epochs=auto", "auto"),
        ("norm=none", None),
        ("views.edges_per_node=none", None),
        ("scaling=none", "none"),
        ("topology=none", "none"),
    ],
)
def test_settings__are_read_as_recipes_are(text: str, value: object) -> None:
    ((_, found),) = parse_settings([text]).items()
    assert found == value
    assert type(found) is type(value)


def test_settings__none_is_a_word_where_a_parameter_knows_it() -> None:
    owners = [*(method.Config for method in METHODS.values()), *VIEWS.values()]
    for owner in [*owners, StopByLinks]:
        for name, declared in owner.declared().items():
            ((_, found),) = parse_settings([f"{name}=none"]).items()
            # A device may be anything, a meta-path any text.
            free = ("device", "metapaths")
            expected = name not in free and declared.rule.accepts("none")
            assert (found == "none") == expected, name


@pytest.mark.parametrize("text", ["lr", "=1", "lr="])
def test_settings__a_mistake_is_reported(text: str) -> None:
    with pytest.raises(InputError, match="expected key=value"):
        parse_settings([text])


@pytest.mark.parametrize(
    "recipe",
    [
        {
            "norm": None,
            "scaling": "none",
            "lr": 0.1 + 0.2,
            "num_layers": 3,
            "epochs": "auto",
            "views": "learned_graph",
            "views__keep_edges": True,
            "views__edges_per_node": None,
        },
        {"epochs": "auto", "epochs__patience": 5, "views": "node_alone"},
        {"epochs": 7, "views__edge_drop": 0.25},
    ],
)
def test_write__is_read_back_as_it_was(tmp_path: Path, recipe: dict[str, Any]) -> None:
    path = tmp_path / "deep" / "own.toml"
    write_recipe(path, recipe, ["made by a test"])
    assert read_recipe(path) == recipe
    assert path.read_text().startswith("# made by a test\n")


def test_paper__literal_second_graph_as_the_readme_says(tmp_path: Path) -> None:
    readme = Path(recipes.FOLDER / "README.md").read_text()
    blocks = re.findall(r"```toml\n(.*?)```", readme, flags=re.DOTALL)
    (literal,) = (block for block in blocks if "raw" in block)
    system = SYSTEMS["dsgrl-topology"]
    settings = load_recipe(write(tmp_path, literal), "dsgrl-topology", "node")
    found: Any = system.configure(settings, "node").completed(typical_spec("node"))
    names = ("edges_per_node", "weights", "similarity", "symmetric")
    paper: Any = DSGRL.paper("topology").get_params(deep=False)["views"]
    for name in names:
        assert getattr(found.views, name) == getattr(paper, name)
