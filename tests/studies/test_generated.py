"""The study of generated graphs."""

from pathlib import Path

import pytest
import torch

from studies.generated import CASES, draw, generate, methods_for, run_cases
from studies.kinds import KINDS


def test_run_cases__one_line_per_method_and_goes_on_where_it_was(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lines.jsonl"
    lines = list(run_cases(["3 columns"], [0], path))
    assert [line["method"] for line in lines] == ["raw", "hops", "dsgrl"]
    assert all(25 < line["mean"] <= 100 for line in lines)
    assert list(run_cases(["3 columns"], [0], path)) == []


def test_generate__links_stay_in_communities_as_asked() -> None:
    for case in CASES.values():
        data = generate(case, 0)
        one, other = data.y[data.edge_index]
        assert abs(float((one == other).float().mean()) - case.inside) < 0.1
        degree = data.edge_index.size(1) / case.nodes
        assert abs(degree / case.degree - 1) < 0.2


@pytest.mark.parametrize("name", KINDS)
def test_kinds__are_simple_graphs_of_several_classes(name: str) -> None:
    data, again, other = draw(name, 0), draw(name, 0), draw(name, 1)
    assert data.is_undirected()
    assert not data.has_self_loops()
    assert not data.edge_index.unique(dim=1).size(1) < data.edge_index.size(1)
    assert len(data.y) == data.num_nodes
    assert int(data.y.bincount().min()) > 2
    assert torch.equal(data.edge_index, again.edge_index)
    assert torch.equal(data.y, again.y)
    if "sides" in name:
        one, end = data.y[data.edge_index]
        assert (one == end).float().mean() < 0.15
        assert not torch.equal(data.y, other.y)


def test_methods_for__are_those_that_have_an_input() -> None:
    assert methods_for(draw("grid, edges only", 0)) == ["hops", "dsgrl"]
    assert methods_for(draw("wine, nearest rows", 0)) == ["raw", "hops", "dsgrl"]
    assert "svd" in methods_for(draw("two sides, 400 words", 0))
