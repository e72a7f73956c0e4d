"""What every floor has: a fit in closed form, and rows that describe data."""

from torch import Tensor, nn

from dsgrl.graph import Graph


def spread_of(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean and the deviation of every column [D]; constant ones have 1."""
    mean, deviation = rows.mean(dim=0), rows.std(dim=0, correction=0)
    is_constant = deviation <= 1e-5 * mean.abs().clamp_min(1e-30)
    return mean, deviation.masked_fill(is_constant, 1.0)


class Floor(nn.Module):
    """A description of nodes or graphs that needs no training.

    Attributes:
        out_channels: columns of a description.
    """

    out_channels: int

    def fit(self, graph: Graph) -> None:
        """Fit what depends on the training data, such as projections."""
        raise NotImplementedError

    def forward(self, graph: Graph) -> Tensor:
        """Describe the nodes [N, out_channels], or the graphs [B, out_channels]."""
        raise NotImplementedError
