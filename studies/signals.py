"""Signals of the graph itself: measures of an embedding that need no label.

Candidates for choosing epochs and parameters; studies/pages/CHOOSING.md measures what
each is worth. Columns of embeddings are standardised first.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from dsgrl.encode.readout import Readout
from dsgrl.graph import Adjacency, Graph, Relations, propagate
from dsgrl.methods.base import Method
from dsgrl.methods.dsgrl import DSGRLMethod
from dsgrl.train.batches import embed_all
from dsgrl.train.diagnostics import measure_health, spectrum_slope
from dsgrl.train.links import HeldOutLinks, standardized

# Rows compared with each other, and pairs of linked rows.
COMPARED_ROWS = 1000
SAMPLE_PAIRS = 20_000
# Rows of a regression, half to fit and half to judge; columns that are predicted.
REGRESSION_ROWS = 4000
REGRESSION_COLUMNS = 32
# Share of the edges that a disturbed copy lacks.
DISTURBED = 0.1


class Signals:
    """Measures an embedding without labels.

    ==============  ================================================================
    `link_auc`      hidden edges against random pairs, as `HeldOutLinks` (not for many
                    graphs)
    `effective_rank`, `deviation`  spread of the columns, as `measure_health`
    `slope`         how fast the eigenvalues fall, as `spectrum_slope`
    `agreement`     mean cosine of a row's two views
    `matching`      share of rows of view 1 whose nearest in view 2 is their own
    `stability`     share of rows whose nearest in a copy of the graph that lacks some
                    edges is their own
    `smoothness`    mean cosine of linked rows less that of random ones (not for many
                    graphs)
    `own_features`  how much of a row's input is a linear function of its vector:
                    R^2 on held-out rows; of whole graphs: of what they contain
    `near_features` the same of the mean input of its neighbours (not for many graphs)
    `augmented`     deviation of the augmented features (learned features only)
    `augmented_rank`, `augmented_slope`  effective rank and slope of those of view 1
    ==============  ================================================================

    Args:
        graph: what the method is trained on.
        links: the edges hidden from it, if any.

    Note:
        What is sampled is drawn once, here, from torch's global generator.
    """

    def __init__(self, graph: Graph, links: HeldOutLinks | None) -> None:
        self.graph, self.links = graph, links
        self.disturbed = _without_some_edges(graph)
        self.orders = [torch.randperm(len(rows)) for rows in _rows(graph)]
        self.targets = _targets(graph)
        self.pairs = None
        if graph.ptr is None and not isinstance(graph.adjacency, Relations):
            self.pairs = _linked_and_random(graph.adjacency)

    @torch.no_grad()
    def measure(self, method: Method) -> dict[str, float]:
        """Measure a method as it is now; it is left in evaluation mode."""
        method.eval()
        z = embed_all(method, self.graph)
        kinds = self.graph.split(z)
        found = {
            **_mean(
                [
                    {**measure_health(kind), "slope": spectrum_slope(kind)}
                    for kind in kinds
                    if len(kind)
                ]
            ),
            "stability": self._matching(z, embed_all(method, self.disturbed)),
        }
        if self.links is not None:
            found["link_auc"] = self.links.score(kinds)
        if self.pairs is not None:
            linked, random = (_cosines(z, pairs) for pairs in self.pairs)
            found["smoothness"] = linked - random
        for name, target in self.targets.items():
            found[name] = predictability(z, target, self.orders[0])
        if isinstance(method, DSGRLMethod):
            found |= self._compare_views(method, z)
        return found

    def _compare_views(self, method: DSGRLMethod, z: Tensor) -> dict[str, float]:
        found = {}
        if method.aggregate == "concat":
            one, two = z.chunk(2, dim=1)
            unit1, unit2 = _unit_rows(one), _unit_rows(two)
            found["agreement"] = float((unit1 * unit2).sum(dim=1).mean())
            found["matching"] = self._matching(one, two)
        if method.features is not None and self.graph.ptr is None:
            x1, x2 = method.features(self.graph.x).unbind(dim=1)
            found["augmented"] = float(torch.stack([x1, x2]).std())
            found["augmented_rank"] = measure_health(x1)["effective_rank"]
            found["augmented_slope"] = spectrum_slope(x1)
        return found

    def _matching(self, one: Tensor, two: Tensor) -> float:
        """Share of rows whose nearest among the others' counterparts is their own."""
        shares = []
        for a, b, order in zip(
            self.graph.split(one), self.graph.split(two), self.orders, strict=True
        ):
            if not len(order):
                continue
            some = order[:COMPARED_ROWS].to(a.device)
            near = _unit_rows(a)[some] @ _unit_rows(b)[some].t()
            own = near.diagonal().unsqueeze(1)
            # Rows that coincide are not told apart: they share the hit.
            ahead, level = (near > own).sum(dim=1), (near >= own).sum(dim=1)
            shares.append(float(((ahead == 0) / level).mean()))
        return sum(shares) / len(shares)


def predictability(z: Tensor, target: Tensor, order: Tensor) -> float:
    """R^2, on held-out rows, of a ridge regression from a vector to a target.

    Args:
        z: embeddings [N, D].
        target: what is predicted [N, T]; constant columns are left out.
        order: the rows in the order in which they are taken [N].
    """
    some = order[:REGRESSION_ROWS].to(z.device)
    x, y = standardized(z)[some].double(), target[some].double()
    y = y[:, y.std(dim=0) > 1e-6]
    half = len(some) // 2
    if half < 2 or y.size(1) == 0:
        return 0.0
    mean = y[:half].mean(dim=0)
    ridge = torch.eye(x.size(1), dtype=x.dtype, device=x.device) * 1e-2 * half
    gram = x[:half].t() @ x[:half] + ridge
    weight = torch.linalg.solve(gram, x[:half].t() @ (y[:half] - mean))
    missed = (y[half:] - mean - x[half:] @ weight).square().sum(dim=0)
    spread = (y[half:] - mean).square().sum(dim=0).clamp_min(1e-12)
    return float((1 - missed / spread).clamp_min(0).mean())


def _rows(graph: Graph) -> list[range]:
    """Return what is compared with each other: nodes of a type, or graphs."""
    if isinstance(graph.adjacency, Relations):
        return [range(size) for size in graph.adjacency.sizes.values()]
    return [range(graph.num_rows)]


def _without_some_edges(graph: Graph) -> Graph:
    parts = []
    for part, _, _ in graph.adjacency.parts():
        keep = torch.rand(part.num_edges).to(part.device) >= DISTURBED
        parts.append(part.select(keep))
    return graph.with_adjacency(graph.adjacency.with_parts(parts))


def _targets(graph: Graph) -> dict[str, Tensor]:
    """Return what vectors may be asked to know: a mixture of columns of the input."""
    if isinstance(graph.x, tuple):
        return {}
    width = graph.x.shape[1]
    mix = torch.eye(width)
    if width > REGRESSION_COLUMNS:
        mix = torch.randn(width, REGRESSION_COLUMNS)
    mix = mix.to(graph.adjacency.device)
    own = propagate(graph.x, mix) if isinstance(graph.x, Adjacency) else graph.x @ mix
    near = propagate(graph.adjacency.normalized("mean"), own)
    if graph.ptr is None:
        return {"own_features": own, "near_features": near}
    sizes = graph.ptr.diff().unsqueeze(1)
    degree = graph.adjacency.pattern.rowptr.diff().float().unsqueeze(1)
    inside = torch.cat([own, near, degree, degree.square()], dim=1)
    mean = Readout("mean")(inside.unsqueeze(1), graph.ptr).flatten(1)
    return {"own_features": torch.cat([mean, sizes.log1p()], dim=1)}


def _linked_and_random(adjacency: Adjacency) -> tuple[Tensor, Tensor]:
    edges = adjacency.edge_index
    some = torch.randint(max(edges.size(1), 1), (SAMPLE_PAIRS,)).to(edges.device)
    random = torch.randint(adjacency.shape[0], (2, SAMPLE_PAIRS)).to(edges.device)
    return edges[:, some] if edges.size(1) else random, random


def _cosines(z: Tensor, pairs: Tensor) -> float:
    unit = _unit_rows(z)
    return float((unit[pairs[0]] * unit[pairs[1]]).sum(dim=1).mean())


def _unit_rows(z: Tensor) -> Tensor:
    return F.normalize(standardized(z), dim=1)


def _mean(rows: list[dict[str, float]]) -> dict[str, float]:
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
