"""Training that is stopped and goes on, and what is refused."""

import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from torch_geometric.data import Data

from dsgrl import DSGRL, Checkpoints, embedder
from dsgrl.augment import VIEWS
from dsgrl.methods import METHODS, StopByLinks, configure
from dsgrl.train import Interrupted, begin, fit_graph
from dsgrl.train.checkpoint import list_checkpoints
from dsgrl.train.state_file import StateFile, read_state, write_state
from dsgrl.typing import InputError
from samples import LEVELS, make_data, make_model

Row = dict[str, float]
CASES = [
    (name, level)
    for name, method in METHODS.items()
    for level in LEVELS
    if level in method.levels and method.is_trained and "labels" not in method.needs
]
SMALL: dict[str, Any] = {"out_channels": 6, "epochs": 6}


class KilledError(Exception):
    """Stands for the end of the process."""


def kill_at(epoch: int) -> Callable[[Row], None]:
    def report(row: Row) -> None:
        if row["epoch"] == epoch:
            raise KilledError

    return report


def config_of(model: Any) -> Any:
    return METHODS[model.method_name].Config(**model.get_params(deep=False))


def killed_fit(model: Any, data: Any, epoch: int, options: Checkpoints) -> None:
    """Train to the end of an epoch, and die before it is saved."""
    with pytest.raises(KilledError):
        fit_graph(
            model.method_name,
            data,
            config_of(model),
            report=kill_at(epoch),
            checkpoints=options,
        )


def stacked(z: Any) -> Any:
    return np.concatenate([z[k] for k in sorted(z)]) if isinstance(z, dict) else z


def assert_resumes(model: Any, data: Any, folder: Path, epoch: int = 5) -> Any:
    """Kill a run, resume it, and compare with one that was never killed."""
    expected = stacked(model.fit_transform(data))
    history, kept = model.history_, model.epoch_
    killed_fit(model, data, epoch, Checkpoints(folder, every=2))
    assert max(list_checkpoints(folder)) == epoch - 1
    torch.rand(7)
    found = model.fit_transform(
        data, checkpoint=Checkpoints(folder, every=2, resume=True)
    )
    np.testing.assert_array_equal(stacked(found), expected)
    assert model.history_ == history
    assert model.epoch_ == kept
    return model


@pytest.fixture
def data() -> Any:
    return make_data("node")


@pytest.fixture
def model() -> DSGRL:
    return DSGRL(**SMALL)


@pytest.fixture
def run(tmp_path: Path, data: Any, model: DSGRL) -> Path:
    """Give the folder of a run that was killed in epoch 5."""
    killed_fit(model, data, 5, Checkpoints(tmp_path / "run", every=2))
    return tmp_path / "run"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "level"), CASES)
def test_resume__every_method_and_level(name: str, level: str, tmp_path: Path) -> None:
    known = METHODS[name].Config.declared()
    given = {key: value for key, value in SMALL.items() if key in known}
    assert_resumes(embedder(name)(**given), make_data(level), tmp_path)


@pytest.mark.parametrize("kind", VIEWS)
def test_resume__every_kind_of_views(kind: str, tmp_path: Path, data: Any) -> None:
    assert_resumes(DSGRL(views=kind, **SMALL), data, tmp_path)


@pytest.mark.parametrize("level", LEVELS)
def test_resume__learned_edges_that_are_kept_for_some_steps(
    level: str, tmp_path: Path
) -> None:
    model = make_model(
        level, augment="both", edges_per_node=2, refresh=3, dropout=0.3, **SMALL
    )
    assert_resumes(model, make_data(level), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, level in CASES if level == "node"])
def test_resume__early_stopping_knows_what_it_has_seen(
    name: str, tmp_path: Path, community_graph: Data
) -> None:
    rule = StopByLinks(max_epochs=24, check_every=2, patience=8)
    model = embedder(name)(out_channels=6, epochs=rule)
    assert_resumes(model, community_graph, tmp_path, epoch=7)


def test_resume__warm_up_and_batches(tmp_path: Path) -> None:
    model = DSGRL(batch_size=3, warmup_epochs=5, **SMALL)
    assert_resumes(model, make_data("graph"), tmp_path)


def test_resume__killed_again_and_again(tmp_path: Path, data: Any) -> None:
    model = DSGRL(out_channels=6, epochs=9)
    expected = model.fit_transform(data)
    for epoch in range(2, 10):
        options = Checkpoints(tmp_path, every=1, resume=True)
        killed_fit(model, data, epoch, options)
        assert max(list_checkpoints(tmp_path)) == epoch - 1
    found = model.fit_transform(data, checkpoint=Checkpoints(tmp_path, resume=True))
    np.testing.assert_array_equal(found, expected)


def test_resume__a_run_that_was_done_does_the_end_again(
    tmp_path: Path, data: Any, model: DSGRL
) -> None:
    expected = model.fit_transform(data, checkpoint=tmp_path)
    (path,) = list_checkpoints(tmp_path).values()
    before = path.stat().st_mtime_ns
    again = DSGRL(**SMALL)
    found = again.fit_transform(data, checkpoint=Checkpoints(tmp_path, resume=True))
    np.testing.assert_array_equal(found, expected)
    assert len(again.history_) == 6
    assert path.stat().st_mtime_ns == before


def test_resume__a_seed_that_was_drawn_is_taken_over(tmp_path: Path, data: Any) -> None:
    model = DSGRL(random_state=None, **SMALL)
    killed_fit(model, data, 5, Checkpoints(tmp_path, every=2))
    found = model.fit_transform(data, checkpoint=Checkpoints(tmp_path, resume=True))
    again = DSGRL(random_state=model.seed_, **SMALL).fit_transform(data)
    np.testing.assert_array_equal(found, again)


def test_resume__without_a_checkpoint_starts_with_a_notice(
    tmp_path: Path, data: Any, model: DSGRL, caplog: pytest.LogCaptureFixture
) -> None:
    expected = model.fit_transform(data)
    found = model.fit_transform(data, checkpoint=Checkpoints(tmp_path, resume=True))
    np.testing.assert_array_equal(found, expected)
    assert caplog.messages == [
        f"no checkpoint in {tmp_path}: training starts from the beginning"
    ]


def test_checkpoint__does_not_change_the_result_or_the_random_state(
    tmp_path: Path, data: Any, model: DSGRL
) -> None:
    expected, state = model.fit_transform(data), torch.get_rng_state()
    found = model.fit_transform(data, checkpoint=Checkpoints(tmp_path, every=1))
    np.testing.assert_array_equal(found, expected)
    assert torch.equal(torch.get_rng_state(), state)


def test_checkpoint__in_a_pipeline(tmp_path: Path, data: Any) -> None:
    pipeline = make_pipeline(DSGRL(**SMALL), FunctionTransformer())
    pipeline.fit(data, dsgrl__checkpoint=Checkpoints(tmp_path))
    assert list(list_checkpoints(tmp_path)) == [6]


@pytest.mark.parametrize(("every", "expected"), [(1, [6, 5]), (4, [6, 4]), (9, [6])])
def test_every__epochs_and_the_last_one(
    tmp_path: Path, data: Any, model: DSGRL, every: int, expected: list[int]
) -> None:
    model.fit(data, checkpoint=Checkpoints(tmp_path, every=every))
    assert list(list_checkpoints(tmp_path)) == expected


@pytest.mark.parametrize("keep", [1, 3])
def test_keep__bounds_the_number_of_files(
    tmp_path: Path, data: Any, model: DSGRL, keep: int
) -> None:
    most = []

    def count(_: Row) -> None:
        most.append(len(list(tmp_path.iterdir())))

    options = Checkpoints(tmp_path, every=1, keep=keep)
    fit_graph("dsgrl", data, config_of(model), report=count, checkpoints=options)
    assert max(most) == keep
    assert list(list_checkpoints(tmp_path)) == [6, 5, 4][:keep]


def test_keep__the_old_is_removed_after_the_new_is_there(
    tmp_path: Path, data: Any, model: DSGRL, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink, left = Path.unlink, []

    def note(path: Path, **options: Any) -> None:
        if path.name.startswith("epoch-"):
            unlink(path)
            newest = max(list_checkpoints(tmp_path).items())
            left.append((newest[0], read_state(newest[1]).header["epoch"]))
        else:
            unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", note)
    model.fit(data, checkpoint=Checkpoints(tmp_path, every=1, keep=1))
    assert left == [(epoch, epoch) for epoch in range(2, 7)]


@pytest.mark.parametrize(
    ("seconds", "writing", "expected"),
    [(1.0, 0.0, [10, 20, 24]), (12.0, 0.0, [1, 2, 3]), (1.0, 2.0, [10, 24])],
    ids=["ten seconds", "each epoch is longer", "slow disk"],
)
def test_every__left_out_goes_by_time(
    tmp_path: Path,
    data: Any,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    writing: float,
    expected: list[int],
) -> None:
    from dsgrl.train import checkpoint

    now = [0.0]
    write = checkpoint.write_state

    def slow_write(*given: Any) -> None:
        now[0] += writing
        write(*given)

    def tick(_: Row) -> None:
        now[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(checkpoint, "write_state", slow_write)
    config = config_of(DSGRL(out_channels=6, epochs=expected[-1]))
    options = Checkpoints(tmp_path, keep=99)
    fit_graph("dsgrl", data, config, report=tick, checkpoints=options)
    assert sorted(list_checkpoints(tmp_path)) == expected


def damage(path: Path, place: float = 0.7) -> None:
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1
    path.write_bytes(content)


def test_damaged__newest_falls_back_to_the_one_before(
    run: Path, data: Any, model: DSGRL, caplog: pytest.LogCaptureFixture
) -> None:
    expected = model.fit_transform(data)
    damage(list_checkpoints(run)[4])
    found = model.fit_transform(data, checkpoint=Checkpoints(run, every=3, resume=True))
    np.testing.assert_array_equal(found, expected)
    (line,) = caplog.messages
    assert "epoch-00000004.safetensors" in line
    assert "epoch 2" in line
    # The damaged one is of no use to anybody.
    assert list(list_checkpoints(run)) == [6, 3]


def test_damaged__all_are_refused_in_one_line(
    run: Path, data: Any, model: DSGRL, caplog: pytest.LogCaptureFixture
) -> None:
    for path in list_checkpoints(run).values():
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="every checkpoint is damaged") as caught:
        model.fit(data, checkpoint=Checkpoints(run, resume=True))
    assert "\n" not in str(caught.value)
    assert caplog.messages == []
    assert list(list_checkpoints(run)) == [4, 2]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lr": 0.5}, "lr=0.002, here lr=0.5"),
        ({"random_state": 3}, "seed 0, here 3"),
        ({"epochs": 7}, "epochs=6, here epochs=7"),
        ({"views": "two_steps"}, "views='node_alone'.*here views='two_steps'"),
    ],
)
def test_resume__other_parameters_are_refused(
    run: Path, data: Any, changes: dict[str, Any], said: str
) -> None:
    before = {path: path.read_bytes() for path in run.iterdir()}
    with pytest.raises(InputError, match=said) as caught:
        DSGRL(**{**SMALL, **changes}).fit(
            data, checkpoint=Checkpoints(run, resume=True)
        )
    assert "\n" not in str(caught.value)
    assert {path: path.read_bytes() for path in run.iterdir()} == before


def test_resume__another_method_is_refused(run: Path, data: Any) -> None:
    with pytest.raises(InputError, match="method 'dsgrl', here 'dgi'"):
        embedder("dgi")(**SMALL).fit(data, checkpoint=Checkpoints(run, resume=True))


@pytest.mark.parametrize("part", ["edges", "features", "ids"])
def test_resume__other_data_is_refused(
    run: Path, data: Any, model: DSGRL, part: str
) -> None:
    other = make_data("node", seed=5)
    changed = data.clone()
    if part == "edges":
        changed.edge_index = other.edge_index
    elif part == "features":
        changed.x = other.x
    else:
        changed.ids = list("abc")
    with pytest.raises(InputError, match=f"other data: its {part} differ"):
        model.fit(changed, checkpoint=Checkpoints(run, resume=True))


def test_resume__checkpoints_of_another_format_are_refused(
    run: Path, data: Any, model: DSGRL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsgrl.train.checkpoint.FORMAT", 2)
    with pytest.raises(InputError, match="format 1, this dsgrl reads 2"):
        model.fit(data, checkpoint=Checkpoints(run, resume=True))


def test_checkpoint__a_folder_of_another_run_is_refused(
    run: Path, data: Any, model: DSGRL
) -> None:
    before = sorted(run.iterdir())
    with pytest.raises(InputError, match="has checkpoints of an earlier run"):
        model.fit(data, checkpoint=run)
    assert sorted(run.iterdir()) == before


def test_checkpoint__a_folder_with_other_files_is_fine(
    tmp_path: Path, data: Any, model: DSGRL
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    model.fit(data, checkpoint=Checkpoints(tmp_path, every=1))
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("changes", [{"every": 0}, {"keep": 0}, {"resume": "yes"}])
def test_checkpoints__wrong_values_are_refused(
    tmp_path: Path, data: Any, model: DSGRL, changes: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=f"{min(changes)}=.*expected"):
        model.fit(data, checkpoint=Checkpoints(tmp_path, **changes))


def test_checkpoints__a_file_in_the_place_of_the_folder(
    tmp_path: Path, data: Any, model: DSGRL
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file, expected a folder"):
        model.fit(data, checkpoint=tmp_path / "file")


def test_full_disk__is_one_warning_and_training_goes_on(
    tmp_path: Path,
    data: Any,
    model: DSGRL,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = model.fit_transform(data)
    fsync = os.fsync

    def fail_later(descriptor: int) -> None:
        if list_checkpoints(tmp_path).keys() >= {2}:
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail_later)
    found = model.fit_transform(data, checkpoint=Checkpoints(tmp_path, every=1))
    np.testing.assert_array_equal(found, expected)
    (line,) = caplog.messages
    assert "disk is full" in line
    assert "training goes on" in line
    assert {path.name for path in tmp_path.iterdir()} == {
        f"epoch-0000000{n}.safetensors" for n in (1, 2)
    }
    assert read_state(list_checkpoints(tmp_path)[2]).header["epoch"] == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals__save_the_running_epoch(
    tmp_path: Path, data: Any, model: DSGRL, number: int
) -> None:
    def send(row: Row) -> None:
        if row["epoch"] == 3:
            os.kill(os.getpid(), number)

    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    expected = model.fit_transform(data)
    options = Checkpoints(tmp_path, every=100, handle_signals=True)
    with pytest.raises(Interrupted, match="stopped after epoch 3") as caught:
        fit_graph("dsgrl", data, config_of(model), report=send, checkpoints=options)
    assert caught.value.signal_number == number
    assert isinstance(caught.value, KeyboardInterrupt)
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before
    assert list(list_checkpoints(tmp_path)) == [3]
    found = model.fit_transform(data, checkpoint=Checkpoints(tmp_path, resume=True))
    np.testing.assert_array_equal(found, expected)


def test_signals__a_second_one_does_not_wait(
    tmp_path: Path, data: Any, model: DSGRL
) -> None:
    def send(row: Row) -> None:
        if row["epoch"] == 3:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            raise AssertionError("still here")

    options = Checkpoints(tmp_path, every=2, handle_signals=True)
    with pytest.raises(Interrupted):
        fit_graph("dsgrl", data, config_of(model), report=send, checkpoints=options)
    assert list(list_checkpoints(tmp_path)) == [2]


def test_signals__left_alone_unless_asked_for(
    tmp_path: Path, data: Any, model: DSGRL
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    during = []

    def look(_: Row) -> None:
        during.append(signal.getsignal(signal.SIGTERM))

    options = Checkpoints(tmp_path)
    fit_graph("dsgrl", data, config_of(model), report=look, checkpoints=options)
    assert set(during) == {before}


def test_leftovers__of_a_killed_run_are_removed(
    tmp_path: Path, data: Any, model: DSGRL
) -> None:
    part = tmp_path / f".epoch-00000003.safetensors.{os.getpid()}.part"
    part.mkdir()
    (part / ".tmpAbC").write_text("half")
    model.fit(data, checkpoint=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["epoch-00000006.safetensors"]


def test_progress__of_a_resumed_run_is_said(
    run: Path, data: Any, model: DSGRL, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dsgrl.train.checkpoint")
    model.fit(data, checkpoint=Checkpoints(run, resume=True))
    assert "resumed after epoch 4" in caplog.messages


def plain(state: Any) -> Any:
    """Replace the tensors of a nested state by lists."""
    if isinstance(state, torch.Tensor):
        return state.tolist()
    if isinstance(state, dict):
        return {key: plain(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [plain(value) for value in state]
    return state


@pytest.mark.parametrize("augment", ["auto", "topology"])
def test_state__of_another_run_is_taken_over_whole(augment: str) -> None:
    """Every entry: a counter that is left behind matters to some method only."""
    options = {**SMALL, "epochs": StopByLinks(max_epochs=40, check_every=2)}
    config = configure("dsgrl", {**options, "augment": augment, "random_state": 1})
    data = make_data("node")
    with begin("dsgrl", data, config) as begun:
        for _ in range(5):
            begun.training.run_epoch()
        begun.training.has_warned = True
        wanted = begun.training.state_dict()
    with begin("dsgrl", data, config) as begun:
        assert plain(begun.training.state_dict()) != plain(wanted)
        begun.training.load_state_dict(wanted)
        assert plain(begun.training.state_dict()) == plain(wanted)


def test_resume__of_another_number_of_processes_is_refused(tmp_path: Path) -> None:
    data = make_data("node")
    settings = {**SMALL, "epochs": 2, "random_state": 0}
    DSGRL(**settings).fit(data, checkpoint=Checkpoints(tmp_path, every=1))
    for path in list_checkpoints(tmp_path).values():
        header, state = read_state(path)
        write_state(path, StateFile({**header, "processes": 2}, state))
    with pytest.raises(InputError, match="number of processes 2, here 1"):
        DSGRL(**settings).fit(data, checkpoint=Checkpoints(tmp_path, resume=True))


def test_write_state__others_may_read_it_as_any_file(tmp_path: Path) -> None:
    plain_file = tmp_path / "plain"
    plain_file.touch()
    path = tmp_path / "state.safetensors"
    write_state(path, StateFile({}, {"a": torch.ones(2)}))
    assert path.stat().st_mode == plain_file.stat().st_mode
