"""Write docs/ABLATIONS.md from the recorded lines: `make readme`."""

from pathlib import Path

from dsgrl.bench.ablations import render_ablations
from dsgrl.bench.lines import read_lines

ROOT = Path(__file__).parent.parent
HEAD = """# What each part is worth

The default (`epochs="auto"`, nothing tuned), and the same with one part taken out or
put in; then likewise learned features (`augment="feature"`), which are the default for
many graphs; then learned topology (`augment="topology"`) with other second graphs in
the place of the learned one. Scores are means over the splits (nodes: ten 5/15/80
splits; graphs: the ten public folds), in percent; a change is that against the base of
the same seed, mean ± deviation over the seeds (one seed where there is no ±). Computed
by `scripts/ablations.py` from `results/ablations.jsonl`, which

```
dsgrl bench ablations --methods topology-none,dsgrl-feature,dsgrl-topology \\
    --seeds 0,1,2 --results results/ablations.jsonl
```

makes (`--datasets` for others than the quick ones). Empty cells were not run.

## What they say

**Nodes.** The second view has every node alone. Without the variance or the covariance
term nothing trained tells hidden links better than the untrained model, and that is
kept; without the invariance term Cora and DBLP end there, too, and CiteSeer and debian
lose one and three points. What stands around them pays on Cora, CiteSeer and debian:
dropout (two to three points), dropped features, keeping a somewhat later epoch,
smoothing at read-out, the smaller start (a fifth of a point to one point each).
Stopping by links saves six points on CiteSeer, two layers are worth one to four. Photo
is another matter: it would rather have less dropout and one layer, by half a point
each, but falls by ten without the smaller start; smoothing and later epochs pay there,
too. DBLP (one seed) needs smoothing and two layers and hardly minds the rest. Of what
could be put in, nothing pays on most of them.

**Learned features, nodes.** They need every term likewise. Dropout, stopping by links,
two layers and the smaller start pay on Cora and CiteSeer; weight decay and dropped
edges, too, by less than a point each. Lengthened rows do nothing for these two: they
are there for graphs of few words per node, where decay without them undoes the training
(debian). There dropped edges, decay and the smaller start neither help nor hurt. The
covariance term's weight of 2 pays a little, and on debian alone.

**Whole graphs.** What stands around the loss (all layers in the result, batch norm,
depth) is worth more than any term of it; the covariance term pays on all four, the
invariance term on one. Wide augmenters and two views in the result pay on few of these.
Maxima beside the logarithms of sums, in the place of sums, are worth two points on
ENZYMES and REDDIT-B and one on PROTEINS and NCI1, and neither help nor hurt elsewhere;
logarithms alone do nearly as well where they were run. They are not the default yet:
the vectors are twice as wide, and on IMDB-M and NCI1 judging them takes longer than the
training.

**Does a learned second graph pay?** Against simpler ones in the same place: hardly. The
nodes two steps away do as well or better on every graph of one type, for a quarter to a
tenth of the time; random edges do as well on all but debian. Nearest features win two
points on CiteSeer and lose seven on debian. Best on average is no second graph at all:
one view of a node among its neighbours, one of the node alone. With the help that
it has by default (rows "helped") the others stay behind it. So that is the default for
nodes that have features. It learns no view, only the encoder; features learned beside
it (`augment="both"`, `topology="none"`) cost 2.6 points on Cora and 5.0 on debian and
win 0.3 on CiteSeer (one seed, docs/RESULTS.md). Nodes without features of their own
have nothing to say alone: there learned features stay the default (Cora without its
words 68.7 against 67.4, CiteSeer 49.7 against 47.5, debian 55.9 against 51.1, means of
three seeds in `results/notes.jsonl`; hardly above the untrained model, all of them).

On whole graphs no second graph stands out, as long as nodes are summed up. With maxima
beside logarithms of sums (same file, not in the tables; means of three seeds) nodes
alone do: 69.5 on ENZYMES, 76.4 on PROTEINS, 73.5 on IMDB-B, 48.6 on IMDB-M against
65.6, 75.3, 72.7, 48.5 with the learned graph and 66.2, 75.6, 72.8, 49.1 with learned
features. For several types of nodes those two steps
away are nearly six points ahead of the learned graph on debian-hetero, in a sixth of
the time, and a third of a point on IMDB, with three seeds each: they are the default
there, though on IMDB nearest features do better still (one seed), which on
debian-hetero cost ten points. Learned features beside them cost three points and two,
and looking for learned edges among just these nodes (`candidates="hops"`) ended behind
the learned graph (docs/RESULTS.md). Against learned features, a learned graph is a
point or more ahead on Deezer, REDDIT-B and for several types, as much behind on Cora,
CiteSeer and COLLAB, near elsewhere.

"""


def render() -> str:
    """Return the page."""
    lines = read_lines([ROOT / "results" / "ablations.jsonl"])
    return HEAD + render_ablations(lines)


if __name__ == "__main__":
    (ROOT / "docs" / "ABLATIONS.md").write_text(render())
