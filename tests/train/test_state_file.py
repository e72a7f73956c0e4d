"""Nested state in a file, and every byte of it checked."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from dsgrl.train.state_file import DamagedError, StateFile, read_state, write_state
from dsgrl.typing import InputError

HEADER = {"format": 1, "epoch": 3, "checksum": "0" * 64}
STATE = {
    "weights": {"layer.0": torch.arange(6.0).view(2, 3), "empty": torch.empty(2, 0)},
    "numbers": {0: {"step": torch.tensor(3.0)}, -1: [1, 2.5, None, True, "text"]},
    "betas": (0.9, 0.999),
    "odd": [math.inf, -math.inf, 1e-300, -0.0, 2**60],
    "bytes": torch.arange(7, dtype=torch.uint8),
    "flags": torch.tensor([True, False]),
    '"checksum":"': '"checksum":"',
}


def assert_same(one: Any, other: Any) -> None:
    """Same kinds, same order, same bits."""
    assert type(one) is type(other)
    if isinstance(one, Tensor):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.numpy().tobytes() == other.numpy().tobytes()
    elif isinstance(one, dict):
        assert list(one) == list(other)
        assert [type(key) for key in one] == [type(key) for key in other]
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        assert repr(one) == repr(other)


def round_trip(path: Path, state: Any) -> Any:
    write_state(path, StateFile(HEADER, state))
    found = read_state(path)
    assert found.header == HEADER
    return found.state


def test_round_trip__nested(tmp_path: Path) -> None:
    assert_same(round_trip(tmp_path / "state", STATE), STATE)


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
keys = st.text() | st.integers()
nested = st.recursive(
    plain | st.lists(st.floats(width=32)).map(torch.tensor),
    lambda part: (
        st.lists(part) | st.tuples(part, part) | st.dictionaries(keys, part, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=50, deadline=None)
@given(state=nested)
def test_round_trip__anything(
    tmp_path_factory: pytest.TempPathFactory, state: Any
) -> None:
    path = tmp_path_factory.mktemp("any") / "state"
    assert_same(round_trip(path, state), state)


def test_round_trip__names_that_meet_and_memory_that_is_shared(tmp_path: Path) -> None:
    both = torch.rand(4)
    state = {"a": {"b": both}, "a/b": both[:2], "t": torch.rand(2, 3).t()}
    found = round_trip(tmp_path / "state", state)
    for key in ("a/b", "t"):
        assert torch.equal(found[key], state[key])
    assert torch.equal(found["a"]["b"], both)


def test_round_trip__optimizer(tmp_path: Path) -> None:
    layer = nn.Linear(2, 2)
    optimizer = torch.optim.Adam(layer.parameters(), fused=True)
    layer(torch.rand(3, 2)).sum().backward()
    optimizer.step()
    state = optimizer.state_dict()
    assert_same(round_trip(tmp_path / "state", state), state)


@pytest.mark.parametrize("value", [{1.5: 0}, {True: 0}, {"a": object()}, [set()]])
def test_write_state__refuses_what_cannot_come_back(tmp_path: Path, value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be part of a state"):
        write_state(tmp_path / "state", StateFile({}, value))


def test_read_state__a_change_of_any_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_state(path, StateFile({"e": 1}, {"w": torch.tensor([1.0, 2.0])}))
    content = path.read_bytes()
    for place in range(len(content)):
        for change in (1, 0x20, 0x80):
            changed = bytearray(content)
            changed[place] ^= change
            path.write_bytes(changed)
            with pytest.raises(DamagedError):
                read_state(path)
    path.write_bytes(content)
    read_state(path)


def test_read_state__any_other_length_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_state(path, StateFile({"e": 1}, {"w": torch.tensor([1.0, 2.0])}))
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(DamagedError):
            read_state(path)
    for added in (b"\0", b" ", content):
        path.write_bytes(content + added)
        with pytest.raises(DamagedError):
            read_state(path)
    path.unlink()
    with pytest.raises(DamagedError):
        read_state(path)


def test_read_state__a_file_of_another_program_is_damaged(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    path = tmp_path / "model.safetensors"
    save_file({"w": torch.rand(3)}, path)
    with pytest.raises(DamagedError, match="no checksum"):
        read_state(path)


def test_file__is_safetensors_and_json_without_pickle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pickle

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("pickle was used")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    monkeypatch.setattr(torch, "load", refuse)
    monkeypatch.setattr(torch, "save", refuse)
    path = tmp_path / "state"
    assert_same(round_trip(path, STATE), STATE)
    tensors = load_file(path)
    assert torch.equal(tensors["weights/layer.0"], STATE["weights"]["layer.0"])
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    assert set(metadata) == {"checksum", "header", "state"}

    def refuse_constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    for entry in ("header", "state"):
        json.loads(metadata[entry], parse_constant=refuse_constant)


def test_read_state__does_not_hold_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_state(path, StateFile({}, {"w": torch.arange(5000.0)}))
    found = read_state(path).state["w"]
    with path.open("r+b") as file:
        file.truncate(0)
    assert torch.equal(found, torch.arange(5000.0))


def test_write_state__failure_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state"
    write_state(path, StateFile({}, 1))
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(InputError, match="disk is full"):
        write_state(path, StateFile({}, 2))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
