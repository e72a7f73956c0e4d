"""Where to train."""

import torch

from dsgrl.typing import InputError


def pick_device(device: str) -> torch.device:
    """Return the device of a name; "auto" is a GPU if there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"device={device!r}: not on this machine, expected 'auto', 'cpu' or 'cuda'"
        ) from error
    return found
