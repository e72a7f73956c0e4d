"""A module of your own as the encoder: anything called as (x, edge_index)."""

from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from dsgrl import DSGRL, read_graph


class TwoLayers(nn.Module):
    """Two layers of GraphSAGE with a normalisation between them."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.first = SAGEConv(in_channels, out_channels)
        self.norm = nn.BatchNorm1d(out_channels)
        self.last = SAGEConv(out_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Embed the nodes [N, out_channels]."""
        hidden = self.norm(self.first(x, edge_index)).relu()
        return self.last(hidden, edge_index)


data = read_graph("debian")
encoder = TwoLayers(data.num_features, 64)
model = DSGRL(encoder=encoder, out_channels=64, epochs=2, random_state=0)
z = model.fit_transform(data)
print(z.shape)

# A saved model has the weights; the module itself comes from you.
model.save("model")
again = DSGRL.load("model", encoder=TwoLayers(data.num_features, 64))
print("same:", bool((again.transform(data) == z).all()))
