"""Write docs/ABLATIONS.md from the recorded lines: `make readme`."""

from pathlib import Path

from dsgrl.bench.ablations import render_ablations
from dsgrl.bench.lines import read_lines

ROOT = Path(__file__).parent.parent
HEAD = """# What each part is worth

The default (`augment="feature"`, `epochs="auto"`, nothing tuned), and the same with one
part taken out or put in. Scores are means over the splits (nodes: ten 5/15/80 splits;
graphs: the ten public folds), in percent; a change is that against the default of the
same seed, mean ± deviation over the seeds. Computed by `scripts/ablations.py` from
`results/ablations.jsonl`, which

```
dsgrl bench ablations --methods dsgrl-feature,dsgrl-topology --seeds 0,1,2 \\
    --results results/ablations.jsonl
```

makes. Empty cells were not run. Of learned topology (`augment="topology"`), the tables
at the end put other second graphs in the place of the learned one.

"""


def render() -> str:
    """Return the page."""
    lines = read_lines([ROOT / "results" / "ablations.jsonl"])
    return HEAD + render_ablations(lines)


if __name__ == "__main__":
    (ROOT / "docs" / "ABLATIONS.md").write_text(render())
