"""The state that each of several processes has for itself, in one checkpoint.

Weights and optimisers are the same everywhere. Random numbers differ, and so does what
a method keeps of the graphs that it has seen.
"""

from collections.abc import Mapping

import torch
from safetensors.torch import load, save
from torch import Tensor

from dsgrl.ranks import Ranks

State = Mapping[str, Tensor]


def random_state(device: torch.device) -> dict[str, Tensor]:
    """Return the state of the generators that training draws from.

    These are torch's: the components that use NumPy start a generator of their own, of
    a fixed seed, at every use.
    """
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def set_random_state(state: State, device: torch.device) -> None:
    """Restore the result of `random_state`."""
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)


def gather_state(own: State, ranks: Ranks) -> dict[str, Tensor]:
    """Return the state of this process; of several, those of all of them.

    Args:
        own: tensors by name; names and shapes may differ between the processes.
        ranks: the processes; all of them call it.
    """
    if ranks.count == 1:
        return dict(own)
    held = {name: value.detach().cpu().contiguous() for name, value in own.items()}
    content = torch.frombuffer(bytearray(save(held)), dtype=torch.uint8)
    sizes = ranks.stack(torch.tensor(len(content)))
    padded = content.new_zeros(int(sizes.max()))
    padded[: len(content)] = content
    return {"sizes": sizes, "contents": ranks.stack(padded)}


def pick_state(gathered: State, ranks: Ranks) -> State:
    """Return the part of this process of what `gather_state` has returned."""
    if ranks.count == 1:
        return gathered
    size = int(gathered["sizes"][ranks.rank])
    return load(gathered["contents"][ranks.rank, :size].numpy().tobytes())
