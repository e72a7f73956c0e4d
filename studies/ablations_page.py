"""Write docs/ABLATIONS.md from the recorded lines: `make readme`."""

from pathlib import Path

from studies.ablations import render_ablations
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
kept; without the invariance term Cora and DBLP end there, too, CiteSeer and debian lose
one and three points, Photo and CS nothing. What stands around them pays on Cora,
CiteSeer and debian: dropout (two to three points), dropped features, keeping a somewhat
later epoch, smoothing at read-out, the smaller start (a fifth of a point to one point
each). Stopping by links saves six points on CiteSeer and one on Cora, two layers are
worth one to four. The other three agree in part. DBLP needs smoothing and two layers
and hardly minds the rest. Photo would rather have less dropout and one layer, by half a
point each, but falls by ten without the smaller start; smoothing and later epochs pay
there, too. CS wants dropout and dropped features, and would gain 0.7 without smoothing
and 0.2 with one layer. On average every part pays; both views side by side do so by no
more than seeds differ. Of what could be put in, nothing pays on most of them.

**Learned features, nodes.** They need every term likewise. Dropout, stopping by links,
two layers and the smaller start pay on Cora and CiteSeer. What they have of their own
pays on few, one by one: weight decay on Cora and CiteSeer, by less than a point, not on
debian, DBLP, Photo and Deezer; dropped edges by a tenth to half a point on all but
debian and DBLP, where they do nothing; the covariance term's weight of 2 by half a
point on debian alone. Lengthened rows are there for graphs of few words per node, where
decay without them undoes the training (debian); they do nothing for Cora, CiteSeer and
DBLP, and leave Photo and Deezer, whose rows are long, as they are. Each can stand in
for another: without all four CiteSeer loses more than a point, Deezer and debian more
than half of one, Cora no more than seeds differ, DBLP and Photo nothing (by validation
rows Photo a quarter). So they stay, together. What nodes alone have instead (more
dropout, dropped features, later epochs, smoothing) is no better here: by validation
rows Cora gains 0.3, CiteSeer loses 0.2 and debian 1.2 (one seed;
`results/notes.jsonl`).

**Whole graphs.** All layers in the result, batch norm, depth and the covariance term
are worth two points each, on average over the six sets they were taken out of with
three seeds (NCI1 four to five, the digits two to four points for the last three);
training as a whole is worth one to three on five of them, nothing on PROTEINS, and
costs one on DD (one seed). The invariance term pays on ENZYMES alone, two views in the
result on four of six, by a point; dropout, wide augmenters and standardised embeddings
do neither good nor harm. Maxima beside the logarithms of sums, in the place of sums,
are worth two points on ENZYMES and REDDIT-B and one on PROTEINS and NCI1, and neither
help nor hurt elsewhere; logarithms alone do nearly as well where they were run. Most of
it is there before training: untrained with them ENZYMES has 65.8, PROTEINS 75.4,
REDDIT-B 90.8, DD 78.5, and training adds less than a point to that there, and costs one
and a half on DD. They are not the default: the vectors are twice as wide, and on IMDB-M
and NCI1 judging them takes longer than the training. At half the width, 64 per view,
the vectors are as wide as those of sums, and by validation rows (`results/notes.jsonl`)
ahead of them on all seven sets looked at, by 0.1 to 1.9 points (NCI1, DD and the digits
with one seed); untrained ones gain as much. On IMDB-M judging still takes longer than
the training, so this is left to who wants it: `DSGRL(readout="log_sum+max",
out_channels=64)`.

**Does a learned second graph pay?** Against simpler ones in the same place: no. For
nodes of one kind random edges do as well or better on all but debian (there, too, once
both are helped); nodes two steps away do on all but debian and CS, which lose a fifth
to a third of a point, for half to a tenth of the time. Nearest features win two to
three points on CiteSeer, CS and Deezer, and lose two on DBLP and seven on debian. On
Deezer the learned graph is not ahead of its untrained model. Best on average, and
behind on DBLP alone, is no second graph at all: one view of a node among its
neighbours, one of the node alone. With the help that it has by default (rows "helped")
the others stay behind it; on CS that help costs half a point (94.4 without, one seed).
So that is the default for nodes that have features. It learns no view, only the
encoder; features learned beside it (`augment="both"`, `topology="none"`) cost 2.6
points on Cora and 5.0 on debian and win 0.3 on CiteSeer (one seed, docs/RESULTS.md).
Nodes without features of their own have nothing to say alone: there learned features
stay the default (Cora without its words 68.7 against 67.4, CiteSeer 49.7 against 47.5,
debian 55.9 against 51.1, means of three seeds in `results/notes.jsonl`; training adds a
point to that on debian, and nothing on the others).

On whole graphs no second graph stands out: over eight sets they are within half a point
of the learned one on average. It is ahead of all others on REDDIT-B, by half a point to
two and a half (one seed), and behind nearest features on ENZYMES and PROTEINS. With
maxima beside logarithms of sums (`dsgrl bench graphs --set readout=log_sum+max`; lines
in `results/ablations.jsonl`, not in the tables; means of three seeds) most second
graphs are ahead of the learned one on ENZYMES (65.6; nearest features 69.8, nodes alone
69.5) and PROTEINS (75.3; random edges 77.5, nodes alone 76.4), none is best everywhere:
on IMDB-B nodes alone have 73.5, learned features 72.8, the learned graph 72.7; on
IMDB-M 48.6, 49.1 and 48.5.

For several types of nodes those two steps away are nearly six points ahead of the
learned graph on debian-hetero, in a sixth of the time, and a third of a point on IMDB
(macro-F1 at 20 %), with three seeds each: they are the default there, though on IMDB
nearest features do better still (one seed), which on debian-hetero cost nearly eleven
points. Learned features beside them cost three points and two, and looking for learned
edges among just these nodes (`candidates="hops"`) ended behind the learned graph
(docs/RESULTS.md).

Against learned features, nothing tuned, a learned graph is a point or more behind on
Cora, CiteSeer, Deezer, ENZYMES, IMDB-B and COLLAB, as much ahead on REDDIT-B and for
several types, and near elsewhere.

"""


def render() -> str:
    """Return the page."""
    lines = read_lines([ROOT / "results" / "ablations.jsonl"])
    return HEAD + render_ablations(lines)


if __name__ == "__main__":
    (ROOT / "docs" / "ABLATIONS.md").write_text(render())
