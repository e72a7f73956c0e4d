from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch_geometric.data import Data

from dsgrl import cli, read_graph
from dsgrl.datasets.rows import tabulate_view
from dsgrl.io.embeddings import write_views
from dsgrl.typing import InputError, View


def view(seed: int) -> View:
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(4, (2, 6), generator=generator)
    return View(
        torch.rand(4, 3, generator=generator),
        edge_index,
        torch.rand(6, generator=generator),
    )


def tables(ids: list[object], *seeds: int) -> list[tuple[pa.Table, pa.Table]]:
    return [tabulate_view(Data(ids=ids), view(seed)) for seed in seeds]


def test_write_views__can_be_read_again_as_a_graph(tmp_path: Path) -> None:
    ids = ["a", "b", "c", "d"]
    write_views(tmp_path / "views", tables(ids, 0, 1))
    for number, written in enumerate((view(0), view(1)), start=1):
        data = read_graph(
            tmp_path / f"views/edges{number}.parquet",
            tmp_path / f"views/features{number}.parquet",
            directed=True,
        )
        assert data.ids == ids
        assert torch.equal(data.x, written.x)
        assert torch.equal(data.edge_index, written.edge_index)
        assert torch.equal(data.edge_weight, written.edge_weight)


def test_write_views__replaces_views_but_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "views"
    write_views(folder, tables([0, 1, 2, 3], 0, 1))
    write_views(folder, tables([0, 1, 2, 3], 2, 3))
    assert {path.name for path in tmp_path.iterdir()} == {"views"}
    (folder / "notes.txt").write_text("precious")
    with pytest.raises(InputError, match="holds other files"):
        write_views(folder, tables([0, 1, 2, 3], 0, 1))
    assert (folder / "notes.txt").exists()


@pytest.mark.parametrize("augment", ["feature", "topology", "both"])
def test_embed__writes_the_views_of_every_augmentation(
    augment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = "id,a,b\n" + "".join(f"n{i},{i % 5},{i * 0.1}\n" for i in range(30))
    edges = "source,target\n" + "".join(
        f"n{i},n{(i * 7 + 1) % 30}\n" for i in range(30)
    )
    (tmp_path / "nodes.csv").write_text(nodes)
    (tmp_path / "edges.csv").write_text(edges)
    monkeypatch.chdir(tmp_path)
    command = f"dsgrl embed edges.csv --nodes nodes.csv -o z.npy --augment {augment}"
    options = "--views views --epochs 2 --dim 8 --model model"
    monkeypatch.setattr("sys.argv", [*command.split(), *options.split()])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 0
    first, second = (pq.read_table(f"views/edges{n}.parquet") for n in (1, 2))
    assert (first == second) == (augment == "feature")
    wide = pq.read_table("views/features1.parquet")["features"].type.list_size
    assert wide == (2 if augment == "topology" else 256)


def test_embed__refuses_an_output_inside_the_model_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder is replaced as a whole: the embeddings would be lost with it."""
    out, model = tmp_path / "model/z.npy", tmp_path / "model"
    arguments = ["dsgrl", "embed", "debian", "-o", str(out), "--model", str(model)]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert "lies inside" in capsys.readouterr().err
