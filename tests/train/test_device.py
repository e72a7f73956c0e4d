from unittest.mock import patch

import pytest
import torch

from dsgrl.train.device import pick_device
from dsgrl.typing import InputError


def message(device: str, gpus: int) -> str:
    """Say what is said on a machine with so many GPUs; none can be reached here."""
    with (
        patch("torch.cuda.is_available", return_value=gpus > 0),
        patch("torch.cuda.device_count", return_value=gpus),
        patch("torch.empty", side_effect=RuntimeError("CUDA error\nmore of it")),
        pytest.raises(InputError) as caught,
    ):
        pick_device(device)
    said = str(caught.value)
    assert said.startswith(f"device={device!r}: ")
    assert "\n" not in said
    return said


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:99"])
def test_device__is_not_offered_what_the_machine_has_not(device: str) -> None:
    said, expected = message(device, gpus=0).split(", expected ")
    assert "no CUDA device" in said
    assert "'auto'" in expected
    assert "'cpu'" in expected
    assert "cuda" not in expected


def test_device__a_gpu_too_many_is_told_how_many_there_are() -> None:
    said, expected = message("cuda:99", gpus=2).split(", expected ")
    assert "2 CUDA devices" in said
    assert "'cuda:0'" in expected
    assert "'cuda:1'" in expected
    assert "'cuda:2'" not in expected


@pytest.mark.parametrize("device", ["toaster", "", "cuda:x", "cpu:-3"])
def test_device__a_name_of_nothing_is_told_the_names_there_are(device: str) -> None:
    for gpus in (0, 1):
        said = message(device, gpus)
        assert "'auto'" in said
        assert "'cpu'" in said
        assert ("'cuda:0'" in said) == (gpus > 0)


def test_device__auto_is_a_gpu_if_there_is_one() -> None:
    assert pick_device("cpu") == torch.device("cpu")
    for available in (True, False):
        with patch("torch.cuda.is_available", return_value=available):
            assert (pick_device("auto").type == "cuda") == available
