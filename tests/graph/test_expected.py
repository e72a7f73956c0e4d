from typing import Any

import pytest
import torch

from dsgrl.graph import as_graph
from dsgrl.graph.expected import Expected
from dsgrl.typing import InputError, Level
from samples import LEVELS, make_data, make_graphs, make_hetero


@pytest.mark.parametrize("level", LEVELS)
def test_as_graph__has_the_level_of_its_data(level: str) -> None:
    graph = as_graph(make_data(level))
    assert graph.level == level
    assert graph.to(torch.device("cpu")).level == level
    assert graph.with_adjacency(graph.adjacency).level == level


def test_as_graph__says_which_tables_were_made_from_edges() -> None:
    data = make_hetero()
    data["person"].feature_names = [1, 2, 3]
    tables = dict(zip(data.node_types, as_graph(data).tables, strict=True))
    assert {kind: info.made for kind, info in tables.items()} == {
        "film": False,
        "person": False,
        "tag": True,
    }
    assert tables["person"].names == ["1", "2", "3"]
    assert tables["film"].names is None


def test_as_graph__names_of_a_list_are_those_of_its_graphs() -> None:
    graphs = make_graphs()
    for graph in graphs:
        graph.feature_names = list("abcd")
    ((made, names, _),) = as_graph(graphs).tables
    assert (made, names) == (False, list("abcd"))


@pytest.mark.parametrize("given", LEVELS)
@pytest.mark.parametrize("level", LEVELS)
def test_expected__other_data_is_refused(level: Any, given: Level) -> None:
    trained = as_graph(make_data(level))
    made = tuple(info.made for info in trained.tables)
    schema = trained.adjacency.schema if level == "hetero" else None
    expected = Expected(level, made, schema)
    if given == level:
        assert as_graph(make_data(given), expected=expected).tables == trained.tables
        other = expected._replace(made=tuple(not one for one in made))
        with pytest.raises(InputError, match="node features"):
            as_graph(make_data(given), expected=other)
        return
    with pytest.raises(InputError, match="the model was trained on"):
        as_graph(make_data(given), expected=expected)
