"""Write docs/ABLATIONS.md from the recorded lines: `make readme`."""

from pathlib import Path

from dsgrl.bench.ablations import render_ablations
from dsgrl.bench.lines import read_lines

ROOT = Path(__file__).parent.parent
HEAD = """# What each part is worth

The default (`augment="feature"`, `epochs="auto"`, nothing tuned), and the same with one
part taken out or put in. Scores are means over the splits (nodes: ten 5/15/80 splits;
graphs: the ten public folds), in percent; a change is that against the default of the
same seed, mean ± deviation over the seeds (one seed where there is no ±). Computed by
`scripts/ablations.py` from `results/ablations.jsonl`, which

```
dsgrl bench ablations --methods dsgrl-feature,dsgrl-topology --seeds 0,1,2 \\
    --results results/ablations.jsonl
```

makes (`--datasets` for others than the quick ones). Empty cells were not run. Of
learned topology (`augment="topology"`), the tables at the end put other second graphs
in the place of the learned one.

## What they say

Nodes need every term of the loss: without one of them, nothing trained tells hidden
links better than the untrained model, and that is kept. Dropout, stopping by links, two
layers and the smaller start pay on Cora and CiteSeer; weight decay and dropped edges,
too, by less than a point each. Lengthened rows do nothing for these two: they are there
for graphs of few words per node, where decay without them undoes the training (debian).
There dropped edges, decay and the smaller start neither help nor hurt. The covariance
term's weight of 2 pays a little, and on debian alone. For whole graphs, what stands
around the loss (all layers in the result, batch norm, depth) is worth more than any
term of it; the covariance term pays on all four, the invariance term on one. Wide
augmenters and two views in the result pay on few of these.

Does a learned second graph pay? Against simpler ones in the same place: hardly. The
nodes two steps away do as well or better on every graph of one type, for a quarter to a
tenth of the time; random edges do as well on all but debian. Nearest features win two
points on CiteSeer and lose seven on debian. Best on average is no second graph at all
(`topology="none"`): one view of a node among its neighbours, one of the node alone. It
is ahead of learned features, the default, on CS (94.4 against 92.4), Photo (93.3,
92.0), Deezer (61.2, 58.6) and debian (76.0, 74.1), near on GitHub, and a point behind
on Cora, CiteSeer and DBLP (docs/RESULTS.md). On whole graphs no second graph stands
out. For several types of nodes those two steps away are nearly six points ahead of the
learned graph on debian-hetero, in a sixth of the time, and a third of a point on IMDB,
with three seeds each: they are the default there, though on IMDB nearest features do
better still (one seed), which on debian-hetero cost ten points. Learned features beside
them (`augment="both"`) cost three points and two, and looking for learned edges among
just these nodes (`candidates="hops"`) ended behind the learned graph (docs/RESULTS.md).
Against learned features, also there: a point or more ahead on Deezer, REDDIT-B and for
several types, as much behind on Cora, CiteSeer and COLLAB, near elsewhere. So features
stay the default for one type of nodes and for graphs.

"""


def render() -> str:
    """Return the page."""
    lines = read_lines([ROOT / "results" / "ablations.jsonl"])
    return HEAD + render_ablations(lines)


if __name__ == "__main__":
    (ROOT / "docs" / "ABLATIONS.md").write_text(render())
