"""Where our numbers differ from the paper's, explained by measurement.

`gaps` finds the cells, `changes` lists what is tried on each, `program` has the parts
of the authors' program, `judges` other probes and splits, `variants` measures, and
`page` makes the tables of DIFFERENCES.md.
"""

from dsgrl.bench.lines import read_lines
from studies import BENCH_RESULTS, RESULTS
from studies.differences.gaps import find_gaps
from studies.differences.page import render_tables

# Result files with cells of `dsgrl bench nodes|graphs|hetero`.
BENCH_FILES = [
    BENCH_RESULTS / f"{suite}.jsonl" for suite in ("nodes", "graphs", "hetero")
]
FILE = RESULTS / "differences.jsonl"


def tables() -> dict[str, str]:
    """Return the tables of the page by name."""
    return render_tables(find_gaps(read_lines(BENCH_FILES)), read_lines([FILE]))
