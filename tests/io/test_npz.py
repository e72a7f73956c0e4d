from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsgrl.io.npz import read_npz
from dsgrl.typing import InputError

EDGES = np.array([[0, 1], [1, 2]])
X = np.ones((3, 2))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"edge_index": EDGES, "x": np.full((3, 2), "a")}, "x holds <U1"),
        ({"edge_index": EDGES.astype(str), "x": X}, "edge_index holds"),
        ({"edge_index": EDGES * 1.0, "x": X}, "expected whole numbers"),
        ({"edge_index": EDGES, "edge_weight": np.array(["a", "b"])}, "edge_weight"),
        ({"edge_index": EDGES, "x": np.float32(1)}, "x has shape"),
        ({"edge_index": EDGES, "x": X * 1j}, "x holds complex"),
        ({"edge_index": EDGES, "x": X, "ids": np.array([1, 1, 2])}, "repeated"),
        ({"edge_index": EDGES, "x": X, "y": np.arange(2)}, "y has shape"),
        ({"x": X}, "expected edge_index"),
        (
            {
                "adj_data": np.ones(2),
                "adj_indices": np.array([0, 9]),
                "adj_indptr": np.array([0, 1, 2, 2]),
                "adj_shape": np.array([3, 3]),
            },
            "is no matrix",
        ),
        ({"adj_indptr": np.array([0, 1])}, "has no adj_data"),
    ],
)
def test_read_npz__refuses_with_one_line(
    arrays: dict[str, Any], message: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "graph.npz", **arrays)
    with pytest.raises(InputError, match=message) as caught:
        read_npz(tmp_path / "graph.npz")
    assert "\n" not in str(caught.value)


def test_read_npz__whole_graph(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "graph.npz",
        edge_index=EDGES,
        x=X,
        ids=np.array(["a", "b", "c"]),
        y=np.array([0, 1, 0]),
    )
    graph = read_npz(tmp_path / "graph.npz")
    assert graph.ids == ["a", "b", "c"]
    assert np.array_equal(graph.edges, EDGES)
    assert graph.y is not None
    assert graph.y.tolist() == [0, 1, 0]
    assert graph.features is not None
    assert graph.features.x.dtype == np.float32
