"""Write docs/CHOOSING.md from the recorded curves: `make readme`."""

from pathlib import Path

from studies.choosing import render_choosing
from studies.curves import is_curve
from dsgrl.bench.lines import read_lines

ROOT = Path(__file__).parent.parent
HEAD = """# Choosing without labels

Who embeds a graph often has no labels, so nothing may be chosen by them: not when to
stop, not the parameters. This page measures how much is lost by choosing with what the
graph itself says. It is computed by `scripts/choosing.py` from `results/curves.jsonl`,
which

```
dsgrl bench curves --results results/curves.jsonl
```

makes: settings are trained and never stopped; at some epochs a probe is fitted and the
signals below are measured. A *candidate* is one setting at one epoch. Labels of
the validation rows would choose the candidate with the best validation score; a
criterion chooses the one it likes best. **Lost** is the difference of the two test
scores, in points (macro-F1 for IMDB, else accuracy); below zero the criterion did
better than the labels. Nodes are judged by three 5/15/80 splits, graphs by the ten
public folds; the plain setting of nodes was recorded twice, with other links hidden,
and both count.

* *epoch*: only the epoch is chosen, of one setting (for nodes the plain one: learned
  features without dropped edges, decay, lengthened rows and smaller start; for several
  types and for graphs learned features as they are, here "default"); what
  `epochs="auto"` does.
* *setting and epoch*: among all settings and epochs, where there are several settings;
  what `dsgrl tune --without-labels` does.
* *rank correlation*: Spearman's, with the validation score, over all candidates of a
  dataset; mean over the datasets.

The signals are those of `studies.signals`. "Held-out links, earliest near the best"
hides 5 % of the edges and takes the earliest epoch whose AUC is within one standard
error of the best, stopping when that epoch lies 100 back: what `epochs="auto"` does
(within half of one where the second view has nodes alone, `tolerance`).
"Or steepest spectrum, the earlier" takes the epoch at which the eigenvalues of the
embedding's covariance fall fastest, if that comes first. Choosing the epoch alone it
loses as much on nodes, choosing the setting, too, far more, and on IMDB more. It is not
the default, because looked at every fifth epoch the spectrum has passing
peaks: on ten splits it kept epoch 25 on Photo and epoch 180 on debian
(`results/stopping.jsonl`) where links alone keep later and better ones
(`results/gain.jsonl`).

"""


def render() -> str:
    """Return the page."""
    lines = read_lines([ROOT / "results" / "curves.jsonl"])
    return HEAD + render_choosing([line for line in lines if is_curve(line)])


if __name__ == "__main__":
    (ROOT / "docs" / "CHOOSING.md").write_text(render())
