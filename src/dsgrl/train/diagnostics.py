"""Measures that distinguish a collapsed or noisy embedding from a healthy one."""

import torch
from torch import Tensor

SAMPLE_ROWS = 4096


def measure_health(z: Tensor) -> dict[str, float]:
    """Measure the spread of an embedding, from at most 4,096 rows of it.

    Args:
        z: embeddings [N, D].

    Returns:
        `effective_rank`: exp of the entropy of the covariance's eigenvalues, from 1
        (all rows on a line) to D (equal variance in all directions); `deviation`: mean
        of the columns' standard deviations; `deviation_min`: the smallest of them.
    """
    moments = _moments(z)
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


def spectrum_slope(z: Tensor) -> float:
    """How fast the eigenvalues of the covariance fall, from the 1st to the D/2-th.

    Minus the slope of their logarithms over the logarithm of their rank. It rises while
    the embedding concentrates the graph's structure in a few directions, and falls once
    the regulariser spreads noise over the others.
    """
    values = torch.linalg.eigvalsh(_moments(z)).flip(0)
    values = values[: max(values.numel() // 2, 2)]
    largest = values[:1].clamp_min(1e-300)
    height = torch.maximum(values, 1e-12 * largest).log()
    rank = torch.arange(1, len(height) + 1, dtype=height.dtype).log().to(height.device)
    rank, height = rank - rank.mean(), height - height.mean()
    return -float((rank * height).sum() / rank.square().sum().clamp_min(1e-300))


def _moments(z: Tensor) -> Tensor:
    """Covariance of the columns, from at most 4,096 rows [D, D]."""
    step = max(1, -(-z.size(0) // SAMPLE_ROWS))
    rows = z[::step].double()
    centered = rows - rows.mean(dim=0)
    return centered.t() @ centered / max(rows.size(0) - 1, 1)
