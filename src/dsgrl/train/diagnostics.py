"""What tells a collapsed embedding from a healthy one."""

import torch
from torch import Tensor

SAMPLE_ROWS = 4096


def measure_health(z: Tensor) -> dict[str, float]:
    """Measure the spread of an embedding, from at most 4,096 rows of it.

    Args:
        z: embeddings [N, D].

    Returns:
        `effective_rank`: exp of the entropy of the covariance's eigenvalues, from 1
        (all on a line) to D (all directions alike); `deviation`: mean over the
        columns of their standard deviation; `deviation_min`: the smallest of them.
    """
    step = -(-z.size(0) // SAMPLE_ROWS)
    rows = z[::step].double()
    centered = rows - rows.mean(dim=0)
    moments = centered.t() @ centered / max(rows.size(0) - 1, 1)
    deviation = moments.diagonal().sqrt()
    eigenvalues = torch.linalg.eigvalsh(moments).clamp_min(0)
    share = eigenvalues / eigenvalues.sum().clamp_min(1e-300)
    entropy = -torch.xlogy(share, share).sum()
    return {
        "effective_rank": float(entropy.exp()),
        "deviation": float(deviation.mean()),
        "deviation_min": float(deviation.min()),
    }


def is_collapsed(health: dict[str, float]) -> bool:
    """Whether all nodes have nearly the same vector, or lie on one line."""
    return health["deviation"] < 1e-3 or health["effective_rank"] < 1.1
