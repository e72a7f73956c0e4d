import json
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from dsgrl import cli
from dsgrl.bench import speed
from dsgrl.graph import Spec, as_graph
from dsgrl.methods.dsgrl import DSGRLMethod
from dsgrl.typing import InputError

FIELDS = {
    "suite",
    "case",
    "ours_s",
    "pyg_s",
    "floor_s",
    "speedup",
    "over_floor",
    "peak_rss_mb",
}


def test_time_case__one_line_with_its_ratios(
    monkeypatch: pytest.MonkeyPatch, community_graph: Data
) -> None:
    monkeypatch.setattr(
        speed, "_load_or_generate", lambda *_: (community_graph, "made")
    )
    line = speed._time_case("photo", 7, None)
    assert line.keys() >= FIELDS
    assert line["suite"] == "speed"
    assert line["speedup"] == pytest.approx(line["pyg_s"] / line["ours_s"], rel=0.05)
    assert line["over_floor"] == pytest.approx(
        line["ours_s"] / line["floor_s"], rel=0.05
    )


def test_generated__has_the_shape_of_the_missing_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(*_: Any) -> None:
        raise InputError("not there")

    monkeypatch.setattr(speed, "load_dataset", missing)
    data, source = speed._load_or_generate("photo", None)
    assert source == "generated"
    assert (data.num_nodes, data.num_edges, data.num_features) == (7650, 238162, 745)
    filled = (data.x != 0).float().mean().item()
    assert filled == pytest.approx(0.3474, abs=0.01)


def test_stock__trains_the_same_model(community_graph: Data) -> None:
    """With the same weights and no dropout both epochs have the same loss."""
    graph = as_graph(community_graph)
    stock = speed._StockModel(12)
    for parameter in stock.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    config = speed.TIMED_CONFIG.replace(dropout=0.0).resolved(Spec.of(graph))
    ours: Any = DSGRLMethod.build(config, Spec.of(graph)).eval()
    for view, augment in enumerate((stock.augment1, stock.augment2)):
        ours.features.weights[0].data[:, view] = augment.weight.data.t()
        ours.features.biases[0].data[view] = augment.bias.data
    for layer, conv in zip(
        ours.encoder.layers, (stock.conv1, stock.conv2), strict=True
    ):
        layer.weight.data = conv.lin.weight.data.t()
        if layer.bias is None:
            torch.nn.init.zeros_(conv.bias)
        else:
            layer.bias.data = conv.bias.data
    views = torch.stack(
        [stock.augment1(community_graph.x), stock.augment2(community_graph.x)], dim=1
    ).relu()
    x1, x2 = views.unbind(1)
    z1, z2 = ours.encode(graph).unbind(1)

    def encode(x: torch.Tensor) -> torch.Tensor:
        h = stock.conv1(x, community_graph.edge_index).relu()
        z: torch.Tensor = stock.conv2(h, community_graph.edge_index)
        return z

    torch.testing.assert_close(z1, encode(x1), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(z2, encode(x2), rtol=1e-4, atol=1e-4)


def test_bench__prints_whole_lines_and_appends_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    long = {"suite": "speed", "case": "photo", "note": "word " * 60}
    monkeypatch.setattr(speed, "run_speed", lambda *_, **__: iter([long, long]))
    results = tmp_path / "speed.jsonl"
    monkeypatch.setattr(
        "sys.argv", ["dsgrl", "bench", "speed", "--results", str(results)]
    )
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 0
    for text in (capsys.readouterr().out, results.read_text()):
        assert [json.loads(line) for line in text.splitlines()] == [long, long]
