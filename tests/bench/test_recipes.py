"""Recipes: every one loads, says what the paper says, and mistakes are told."""

import re
from pathlib import Path
from typing import Any

import pytest
from dsgrl.methods.rules import RULES

from dsgrl.bench.recipes import (
    DEFAULT,
    DSGRL_TABLE,
    default_parameters,
    list_families,
    list_recipes,
    load_recipe,
    merge,
    parse_settings,
    write_recipe,
)
from dsgrl.bench.systems import SYSTEMS
from dsgrl.bench.tables import load_paper
from dsgrl.datasets.table import DATASETS
from dsgrl.estimator import DSGRL
from dsgrl.typing import InputError

RECIPES = list_recipes()
FACTS = Path(__file__).parents[3] / "shared" / "paper" / "FACTS.md"
# The appendix's columns, in its order.
COLUMNS = {
    "D1": "augment_channels",
    "D": "out_channels",
    "L": "num_layers",
    "alpha": "invariance_weight",
    "beta": "variance_weight",
    "gamma": "covariance_weight",
    "lambda": "orthogonality_weight",
    "dropout": "dropout",
    "lr": "lr",
    "epochs": "epochs",
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipe__sets_parameters_of_the_system_it_is_for(name: str) -> None:
    _, owner, dataset = name.split("/")
    assert dataset in DATASETS
    system = next(system for system in SYSTEMS.values() if system.recipes == owner)
    assert system.parameters is not None
    recipe = load_recipe(name, system.parameters)
    if system.parameters is DSGRL_TABLE:
        # It says again what makes the system what it is, and nothing else of it.
        assert recipe.items() >= system.fixed.items()
        model = DSGRL(**recipe)
        assert recipe.items() <= model.get_params(deep=False).items()


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("paper")])
def test_recipe__of_the_paper_has_a_number_to_compare_with(name: str) -> None:
    _, augment, dataset = name.split("/")
    assert any(
        dataset in {column["dataset"] for column in table["columns"]}
        and f"dsgrl-{augment}" in {row["method"] for row in table["rows"]}
        for table in load_paper().values()
    )


# How learned edges are looked for, where it runs: not what the method is.
OPEN = {"candidates", "device", "tolerance"}


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("paper")])
def test_recipe__of_the_paper_leaves_nothing_to_our_defaults(name: str) -> None:
    left = {
        key
        for key, value in merge(default_parameters(), load_recipe(name)).items()
        if value == "auto"
    }
    # Without a second graph it does not matter which one there would be.
    unused = {"topology"} if "/feature/" in name else set()
    assert left == OPEN | unused


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
    photo = load_recipe("paper/feature/photo")
    assert (photo["augment_channels"], photo["out_channels"], photo["lr"]) == (
        256,
        64,
        0.001,
    )
    assert photo["jump"] == "sum"
    assert photo["norm"] is None
    assert photo["scaling"] == "none"
    collab = load_recipe("paper/topology/collab")
    assert (collab["batch_size"], collab["encoder"], collab["epochs"]) == (32, "gin", 1)
    assert load_recipe("paper/feature/imdb")["covariance_weight"] == 0.07


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
        recipe = load_recipe(f"paper/{augment}/{dataset}")
        assert {key: recipe[key] for key in values} == values, dataset
        assert values.keys() >= {"lr", "dropout"}


def write(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("learning_rat = 0.1", "unknown key 'learning_rat': did you mean "),
        ("drop_out = 0.1", "did you mean 'dropout'?"),
        ("lr = -1.0", "lr=-1.0: expected a number above 0"),
        ("lr = ", "not a TOML file"),
    ],
)
def test_load__a_mistake_is_told_in_one_line(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        load_recipe(write(tmp_path, text))
    assert said in str(caught.value)
    assert "own.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "edge_dorp = 0.1",
            "unknown key 'edge_dorp': did you mean 'edge_drop'? expected a parameter "
            "of cca-ssg",
        ),
        ('augment = "feature"', "unknown key 'augment'"),
        ("edge_drop = 1.5", "edge_drop=1.5: expected a share from 0 to below 1"),
    ],
)
def test_load__a_baselines_recipe_has_the_baselines_keys(
    tmp_path: Path, text: str, said: str
) -> None:
    table = SYSTEMS["cca-ssg"].parameters
    assert table is not None
    with pytest.raises(InputError) as caught:
        load_recipe(write(tmp_path, text), table)
    assert said in str(caught.value)
    good = write(tmp_path, "decorrelation_weight = 0.5\nnorm = 'none'")
    assert load_recipe(good, table) == {"decorrelation_weight": 0.5, "norm": None}
    with pytest.raises(InputError, match="expected a parameter of DSGRL"):
        load_recipe(good)


def test_load__an_unknown_name_is_told_with_a_near_one() -> None:
    with pytest.raises(InputError, match="did you mean 'paper/feature/photo'"):
        load_recipe("paper/features/photo")
    with pytest.raises(InputError, match="no recipe"):
        load_recipe("nowhere.toml")


def test_merge__command_line_beats_recipe_beats_default(tmp_path: Path) -> None:
    defaults = default_parameters()
    recipe = load_recipe(write(tmp_path, "lr = 0.5\ndropout = 0.25"))
    merged = merge(defaults, recipe, parse_settings(["lr=0.125"]))
    assert merged["lr"] == 0.125
    assert merged["dropout"] == 0.25
    rest = merged.keys() - {"lr", "dropout"}
    assert {key: merged[key] for key in rest} == {key: defaults[key] for key in rest}
    assert defaults == default_parameters()


@pytest.mark.parametrize("layer", [0, 1])
def test_merge__an_unknown_key_fails_in_any_layer(layer: int) -> None:
    layers: list[dict[str, Any]] = [{}, {}]
    layers[layer] = {"dropuot": 0.5}
    with pytest.raises(InputError, match="did you mean 'dropout'"):
        merge(default_parameters(), *layers)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("lr=1e-2", 0.01),
        ("num_layers = 3", 3),
        ("keep_edges=true", True),
        ("epochs=auto", "auto"),
        ("norm=none", None),
        ("scaling=none", "none"),
        ("topology=none", "none"),
    ],
)
def test_settings__are_read_as_recipes_are(text: str, value: object) -> None:
    ((_, found),) = parse_settings([text]).items()
    assert found == value
    assert type(found) is type(value)


def test_settings__none_is_a_word_where_a_parameter_knows_it() -> None:
    for name, (accepts, _) in RULES.items():
        ((_, found),) = parse_settings([f"{name}=none"]).items()
        assert accepts("none") == (found == "none"), name


@pytest.mark.parametrize("text", ["lr", "=1", "lr="])
def test_settings__a_mistake_is_told(text: str) -> None:
    with pytest.raises(InputError, match="expected key=value"):
        parse_settings([text])


def test_write__is_read_back_as_it_was(tmp_path: Path) -> None:
    recipe = {
        "augment": "topology",
        "norm": None,
        "scaling": "none",
        "keep_edges": True,
        "lr": 0.1 + 0.2,
        "num_layers": 3,
        "epochs": "auto",
    }
    path = tmp_path / "deep" / "own.toml"
    write_recipe(path, recipe, ["made by a test"])
    assert load_recipe(path) == recipe
    assert path.read_text().startswith("# made by a test\n")
