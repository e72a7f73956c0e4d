r"""SimGRACE: a graph and a perturbed encoder, https://arxiv.org/abs/2202.03104.

The second view of a graph is its embedding by an encoder with noise on the weights:

.. math:: \theta'_l = \theta_l + \eta \, \Delta\theta_l, \quad
          \Delta\theta_l \sim N(0, \sigma_l^2)

sigma_l is the standard deviation of the l-th parameter. The projection head has no
noise. As in the authors' program, the perturbed encoder gets no gradient. The program
takes the loss in one direction only, adds self-loops to the graphs, and has a constant
where a set has no features. It tunes eta by set, among 0.1, 1, 10 and 100.
The adversarial form of the paper (AT-SimGRACE) is not here.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call

from dsgrl.graph import Graph
from dsgrl.methods.graph_contrast import GraphContrast, GraphContrastConfig
from dsgrl.parameters import COUNT, WEIGHT, parameter
from dsgrl.typing import LossTerms


class SimGRACEMethod(GraphContrast):
    """One encoder, once with noise on its weights.

    Args:
        encoder: see `GraphContrast`.
        temperature: see `GraphContrast`.
        noise: eta.
    """

    class Config(GraphContrastConfig):
        """The parameters of SimGRACE."""

        out_channels: int = parameter(
            COUNT,
            "width of the embedding; every layer has its share of it",
            default=160,
            search=(32, 256, "log"),
        )
        num_layers: int = parameter(
            COUNT, "GIN layers of the encoder", default=5, search=(2, 5, "linear")
        )
        noise: float = parameter(
            WEIGHT,
            "eta, noise on the weights in units of their standard deviation",
            default=1.0,
            search=(0.1, 100.0, "log"),
        )

    summary: ClassVar[str] = "graphs by an encoder and by a perturbed one, contrasted"

    def __init__(self, encoder: nn.Module, *, temperature: float, noise: float) -> None:
        super().__init__(encoder, temperature=temperature)
        self.noise = noise

    @classmethod
    def options(cls, config: Any) -> dict[str, Any]:
        """Return the other arguments of the constructor."""
        return {"noise": config.noise}

    def training_loss(self, batch: Graph) -> LossTerms:
        """Return the contrast with a freshly perturbed encoder."""
        with torch.no_grad():
            noisy = functional_call(self.encoder, self.perturbed(), (batch,))
            target = self.head(noisy)
        h = self.encoder(batch)
        loss = self.contrast(self.head(h), target)
        return LossTerms({"contrast": loss}, z=h.detach())

    def perturbed(self) -> dict[str, Tensor]:
        """Return the encoder's state with noise on its parameters."""
        state = {
            name: value + self.noise * _deviation(value) * torch.randn_like(value)
            for name, value in self.encoder.named_parameters()
        }
        # Copies: the perturbed encoder must not move the running statistics.
        return state | {name: b.clone() for name, b in self.encoder.named_buffers()}


def _deviation(value: Tensor) -> Tensor:
    """Return the standard deviation; 0 for a single number."""
    return value.std() if value.numel() > 1 else value.new_zeros(())
