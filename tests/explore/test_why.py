import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from dsgrl.explore.columns import Column, Known, category_column, make_terms
from dsgrl.explore.links import link_matrix
from dsgrl.explore.why import explain, find_row
from dsgrl.typing import InputError
from samples import make_hetero

# 0 and 1 share 2 and 3; 2 has more links than 3. 0 and 4 are linked.
EDGES = [(0, 2), (1, 2), (0, 3), (1, 3), (2, 5), (2, 4), (0, 4), (0, 4), (1, 1)]


def make_data() -> Data:
    return Data(edge_index=torch.tensor(EDGES).t(), num_nodes=6)


def test_links__both_ways_once_without_loops() -> None:
    links = link_matrix(make_data()).toarray()
    np.testing.assert_array_equal(links, links.T)
    assert set(np.unique(links)) == {0, 1}
    assert links[1, 1] == 0
    assert links[0].tolist() == [0, 0, 1, 1, 1, 0]


def test_links__types_follow_each_other() -> None:
    data = make_hetero(films=5, people=4)
    links = link_matrix(data)
    film, person = data["film", "by", "person"].edge_index[:, 0].tolist()
    assert links.shape == (15, 15)
    assert links[film, 5 + person] == links[5 + person, film] == 1


def test_explain__shared_neighbours_the_rarest_first() -> None:
    links, terms = link_matrix(make_data()), make_terms(Known())
    found = explain(0, 1, links, terms)
    assert (found.is_linked, found.num_shared, found.shared) == (False, 2, [3, 2])
    assert explain(0, 4, links, terms).is_linked
    assert "2 shared neighbours (d, c)" in found.in_words(list("abcdef"))


def test_explain__shared_words_and_unusual_numbers() -> None:
    age = np.array([90, 95, 30, 31, 29, 30], np.float32)
    size = np.array([5, 50, 20, 30, 25, 28], np.float32)
    team = category_column("team", ["x", "x", "y", "y", "y", "y"])
    terms = make_terms(Known(columns=[Column("age", age), Column("size", size), team]))
    found = explain(0, 1, link_matrix(make_data()), terms)
    assert set(found.terms) == {"high age", "team x"}


def test_find__unknown_id_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError, match=r"'vmi'.*did you mean 'vim'"):
        find_row(["vim", "git"], "vmi")


def test_find__the_type_decides_between_equal_ids() -> None:
    ids, types = ["a", "a", "b"], ["film", "person", "film"]
    assert find_row(ids, "a", types, "person") == 1
    with pytest.raises(InputError, match=r"2 rows have the id 'a' .*--type"):
        find_row(ids, "a", types)
    assert find_row([7, 8], "8") == 1
