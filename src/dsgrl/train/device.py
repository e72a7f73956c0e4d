"""Choice of the device to train on."""

import torch

from dsgrl.typing import InputError


def pick_device(device: str) -> torch.device:
    """Return the named device; "auto" is a GPU if available, else the CPU.

    Raises:
        InputError: if this machine has no such device.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise InputError(
            f"device={device!r}: no device has this name, expected {_names()}"
        ) from error
    try:
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"device={device!r}: this machine has {_count(found)}, expected {_names()}"
        ) from error
    return found


def _count(device: torch.device) -> str:
    """Describe how many devices of this kind are available."""
    kind = "CUDA" if device.type == "cuda" else f"usable {device.type!r}"
    count = torch.cuda.device_count() if device.type == "cuda" else 0
    return f"{count or 'no'} {kind} device{'s' if count > 1 else ''}"


def _names() -> str:
    """Name the devices of this machine."""
    count = torch.cuda.device_count()
    numbered = [f"cuda:{number}" for number in range(count)]
    *others, last = ["auto", "cpu", *(["cuda", *numbered] if count else [])]
    return f"{', '.join(map(repr, others))} or {last!r}"
