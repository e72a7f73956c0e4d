import pytest
import torch
from torch_geometric.data import Data

from dsgrl.bench import growth
from dsgrl.bench.growth import run_edges
from dsgrl.bench.scale import make_communities, measure_recall, measure_size, run_scale


def test_measure_size__one_line_with_what_the_benchmark_promises() -> None:
    line = measure_size(600, "index")
    assert (line["suite"], line["case"], line["nodes"]) == ("scale", "topology", 600)
    assert line["seconds"] > 0
    assert line["lookup_seconds"] > 0
    assert line["peak_rss_mb"] > 50
    assert 0.5 < line["recall"] <= 1


@pytest.mark.slow
def test_run_scale__tells_the_growth() -> None:
    first, second = run_scale((500, 1000))
    assert "doubling" not in first
    assert second["doubling"] == pytest.approx(
        second["seconds"] / first["seconds"], rel=1e-2
    )


def test_recall__is_one_for_the_exact_and_small_for_others() -> None:
    h = torch.randn(300, 8)
    exact = (h @ h.t()).topk(4, dim=1).indices
    assert measure_recall(h, exact) == 1.0
    assert measure_recall(h, (exact + 150) % 300) < 0.3


@pytest.mark.parametrize("size", [1000, 4000])
def test_communities__surroundings_stay_the_same_as_the_graph_grows(size: int) -> None:
    data = make_communities(size)
    source, target = data.edge_index // 50
    assert (source == target).float().mean() == pytest.approx(0.8, abs=0.05)
    assert data.num_edges == size * 10


def test_communities__shuffled_is_the_same_graph_in_another_order() -> None:
    torch.manual_seed(1)
    one = make_communities(500)
    torch.manual_seed(1)
    other = make_communities(500, shuffled=True)
    assert not torch.equal(one.x, other.x)
    torch.testing.assert_close(one.x.sum(0), other.x.sum(0), rtol=1e-4, atol=1e-3)
    ends = [(d.x[d.edge_index[0]] * d.x[d.edge_index[1]]).sum() for d in (one, other)]
    torch.testing.assert_close(ends[0], ends[1], rtol=1e-4, atol=1e-2)


@pytest.mark.slow
def test_run_edges__tells_the_growth_at_a_fixed_degree() -> None:
    first, second = run_edges((64_000, 128_000))
    assert (first["case"], first["edges"], first["nodes"]) == ("edges", 64_000, 1000)
    assert second["nodes"] == 2000
    assert second["doubling"] == pytest.approx(
        second["seconds"] / first["seconds"], rel=1e-2
    )


def test_measure_edges__the_graph_has_as_many_edges_as_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    real = growth.make_communities

    def make(*sizes: int, **options: int) -> Data:
        data = real(*sizes, **options)
        seen.append(data.num_edges)
        return data

    monkeypatch.setattr(growth, "make_communities", make)
    line = growth.measure_edges(64_000)
    assert seen == [line["edges"]] == [64_000]
    assert line["seconds"] > 0
