from collections import Counter
from typing import Any

import pytest
import torch
from sklearn.datasets import load_digits

from dsgrl.datasets.builtin import load_debian, load_debian_hetero, load_digits_graphs


@pytest.fixture(scope="module")
def debian() -> Any:
    return load_debian()


@pytest.fixture(scope="module")
def hetero() -> Any:
    return load_debian_hetero()


@pytest.fixture(scope="module")
def digits() -> list[Any]:
    return load_digits_graphs()


def test_debian__ids_are_the_names_of_packages(debian: Any) -> None:
    assert len(debian.ids) == len(set(debian.ids)) == debian.num_nodes
    assert {"vim", "git", "gimp"} <= set(debian.ids)


def test_debian__every_section_has_a_name_and_packages(debian: Any) -> None:
    assert len(set(debian.label_names)) == len(debian.label_names) == 24
    assert sorted(debian.y.unique().tolist()) == list(range(24))
    vim = debian.y[debian.ids.index("vim")]
    assert debian.label_names[vim] == "editors"


def test_debian__features_are_words_that_are_there_or_not(debian: Any) -> None:
    assert set(debian.x.unique().tolist()) == {0.0, 1.0}
    assert len(set(debian.feature_names)) == len(debian.feature_names)
    assert len(debian.feature_names) == debian.x.size(1)
    # A word is a column only if three or more descriptions have it.
    assert debian.x.sum(dim=0).min() >= 3


def test_debian__words_belong_to_their_packages(debian: Any) -> None:
    vim = debian.x[debian.ids.index("vim")]
    words = [debian.feature_names[i] for i in vim.nonzero().flatten().tolist()]
    assert "editor" in words


def test_debian__edges_go_both_ways_once_and_to_others(debian: Any) -> None:
    source, target = debian.edge_index
    forth = source * debian.num_nodes + target
    back = target * debian.num_nodes + source
    assert torch.equal(forth.sort().values, back.sort().values)
    assert forth.unique().numel() == forth.numel()
    assert not (source == target).any()


def test_debian__links_follow_what_packages_declare(debian: Any) -> None:
    git, gui = (debian.ids.index(name) for name in ("git", "git-gui"))
    source, target = debian.edge_index
    assert gui in target[source == git].tolist()


def linked(data: Any, name: str, relation: str, kind: str) -> set[str]:
    """Return the names of what a package points at."""
    source, target = data["package", relation, kind].edge_index
    chosen = target[source == data["package"].ids.index(name)]
    return {data[kind].ids[i] for i in chosen.tolist()}


def test_debian_hetero__packages_are_those_of_debian(debian: Any, hetero: Any) -> None:
    package = hetero["package"]
    assert package.ids == debian.ids
    assert package.feature_names == debian.feature_names
    assert package.label_names == debian.label_names
    assert torch.equal(package.x, debian.x)
    assert torch.equal(package.y, debian.y)


def test_debian_hetero__types_and_relations(hetero: Any) -> None:
    assert hetero.validate()
    assert hetero.node_types == ["package", "maintainer", "tag"]
    assert hetero.edge_types == [
        ("package", "depends", "package"),
        ("package", "recommends", "package"),
        ("package", "suggests", "package"),
        ("package", "maintained_by", "maintainer"),
        ("package", "tagged", "tag"),
    ]
    assert "x" not in hetero["maintainer"]
    assert "x" not in hetero["tag"]


def test_debian_hetero__relations_of_packages_are_the_edges_of_debian(
    debian: Any, hetero: Any
) -> None:
    pairs = {
        pair
        for relation in ("depends", "recommends", "suggests")
        for pair in zip(
            *hetero["package", relation, "package"].edge_index.tolist(), strict=True
        )
    }
    both_ways = pairs | {(target, source) for source, target in pairs}
    assert both_ways == set(zip(*debian.edge_index.tolist(), strict=True))


def test_debian_hetero__every_link_is_there_once(hetero: Any) -> None:
    for kind in hetero.edge_types:
        pairs = list(zip(*hetero[kind].edge_index.tolist(), strict=True))
        assert len(pairs) == len(set(pairs)), kind


def test_debian_hetero__packages_point_at_what_they_need(hetero: Any) -> None:
    assert "git" in linked(hetero, "git-gui", "depends", "package")
    assert "git-gui" not in linked(hetero, "git", "depends", "package")
    assert "git-gui" in linked(hetero, "git", "suggests", "package")


def test_debian_hetero__maintainers_and_tags_of_a_known_package(hetero: Any) -> None:
    maintainers = linked(hetero, "vim", "maintained_by", "maintainer")
    assert maintainers == {"Debian Vim Maintainers"}
    assert "use::editing" in linked(hetero, "vim", "tagged", "tag")


def test_debian_hetero__maintainers_have_names_but_no_address(hetero: Any) -> None:
    names = hetero["maintainer"].ids
    assert len(set(names)) == len(names)
    assert not any(character in name for name in names for character in "@<>\n")
    assert all(name == name.strip() != "" for name in names)


def test_debian_hetero__tags_are_facets_with_a_value(hetero: Any) -> None:
    assert len(set(hetero["tag"].ids)) == len(hetero["tag"].ids)
    assert all("::" in tag for tag in hetero["tag"].ids)


@pytest.mark.parametrize(
    ("relation", "kind"), [("maintained_by", "maintainer"), ("tagged", "tag")]
)
def test_debian_hetero__no_maintainer_or_tag_stands_alone(
    hetero: Any, relation: str, kind: str
) -> None:
    source, target = hetero["package", relation, kind].edge_index
    assert target.unique().tolist() == list(range(hetero[kind].num_nodes))
    if kind == "maintainer":
        assert source.unique().tolist() == list(range(hetero["package"].num_nodes))


def test_digits_graphs__one_graph_per_image(digits: list[Any]) -> None:
    _, expected = load_digits(return_X_y=True)
    assert [graph.y.tolist() for graph in digits] == [[digit] for digit in expected]
    assert {type(digit) for graph in digits for digit in graph.y.tolist()} == {int}


def test_digits_graphs__nodes_are_the_inked_pixels(digits: list[Any]) -> None:
    images, _ = load_digits(return_X_y=True)
    for graph, image in zip(digits, images, strict=True):
        drawn = torch.zeros(8, 8)
        row, column = (graph.x[:, 1:] * 7).round().long().unbind(1)
        drawn[row, column] = graph.x[:, 0] * 16
        assert drawn.flatten().tolist() == image.tolist()
        assert graph.num_nodes == (image > 0).sum()


def test_digits_graphs__features_lie_between_0_and_1(digits: list[Any]) -> None:
    x = torch.cat([graph.x for graph in digits])
    assert x.dtype == torch.float32
    assert x.min(dim=0).values.tolist() == [1 / 16, 0, 0]
    assert x.max(dim=0).values.tolist() == [1, 1, 1]


def test_digits_graphs__edges_are_the_pixels_that_touch(digits: list[Any]) -> None:
    for graph in digits[::50]:
        place = (graph.x[:, 1:] * 7).round().long().tolist()
        touching = {
            (i, j)
            for i, (row, column) in enumerate(place)
            for j, (other_row, other_column) in enumerate(place)
            if i != j and abs(row - other_row) <= 1 and abs(column - other_column) <= 1
        }
        assert Counter(zip(*graph.edge_index.tolist(), strict=True)) == Counter(
            touching
        )
