import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from dsgrl.graph.datasets import DATASETS, data_folder, load_dataset
from dsgrl.graph.files import read_graph
from dsgrl.typing import InputError

DOWNLOADED = [name for name, row in DATASETS.items() if not row.built_in]


@pytest.fixture(scope="module")
def debian() -> Any:
    return load_dataset("debian", Path("no-such-folder"))


def replace_loader(monkeypatch: pytest.MonkeyPatch, name: str, load: Any) -> None:
    row = dataclasses.replace(DATASETS[name], load=load)
    monkeypatch.setitem(DATASETS, name, row)


def counts(data: Any) -> tuple[int, int, int, int]:
    classes = int(data.y[data.y >= 0].unique().numel())
    return data.num_nodes, data.num_edges, data.num_features, classes


def counts_in_table(name: str) -> tuple[int, int, int, int]:
    row = DATASETS[name]
    return row.num_nodes, row.num_edges, row.num_features, row.num_classes


def test_debian__has_the_counts_of_the_table(debian: Any) -> None:
    assert counts(debian) == counts_in_table("debian")
    assert debian.num_edges == debian.edge_index.size(1)


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


@pytest.mark.parametrize("read", [load_dataset, read_graph])
@pytest.mark.parametrize(
    ("wrong", "near"), [("debain", "debian"), ("cite-seer", "citeseer")]
)
def test_load_dataset__unknown_name_suggests_the_nearest(
    read: Any, wrong: str, near: str
) -> None:
    with pytest.raises(InputError, match=f"'{wrong}'.*did you mean '{near}'"):
        read(wrong)


def test_load_dataset__name_like_no_other_suggests_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="dsgrl list") as caught:
        load_dataset("qqqqqqqq", tmp_path)
    assert "did you mean" not in str(caught.value)


def test_load_dataset__case_does_not_matter(debian: Any) -> None:
    assert load_dataset("Debian").ids == debian.ids


@pytest.mark.parametrize("name", DOWNLOADED)
@pytest.mark.parametrize("error", [OSError("no route"), RuntimeError("bad\nfile")])
def test_load_dataset__not_there_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: Exception
) -> None:
    def fail(folder: Path) -> Any:
        assert folder == tmp_path
        raise error

    replace_loader(monkeypatch, name, fail)
    with pytest.raises(InputError) as caught:
        load_dataset(name, tmp_path)
    message = str(caught.value)
    assert f"'{name}'" in message
    assert str(tmp_path) in message
    assert "DSGRL_DATA" in message
    assert "\n" not in message


def test_load_dataset__other_counts_than_the_table_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, debian: Any
) -> None:
    replace_loader(monkeypatch, "cora", lambda _: debian)
    with pytest.raises(InputError, match=f"'cora'.*{debian.num_nodes}") as caught:
        load_dataset("cora", tmp_path)
    assert str(DATASETS["cora"].num_nodes) in str(caught.value)


def test_data_folder__follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DSGRL_DATA", raising=False)
    assert data_folder() == tmp_path / "cache" / "dsgrl"
    monkeypatch.setenv("DSGRL_DATA", str(tmp_path))
    assert data_folder() == tmp_path


@pytest.mark.data
@pytest.mark.parametrize("name", DOWNLOADED)
def test_load_dataset__benchmark_has_the_counts_of_the_table(name: str) -> None:
    data = load_dataset(name)
    assert counts(data) == counts_in_table(name)
    assert data.y.numel() == data.num_nodes
    assert int(data.edge_index.max()) < data.num_nodes
