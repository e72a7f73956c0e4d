"""The research record: what was measured to choose the defaults and to explain them.

Not part of the package. `python -m studies.curves`, `studies.ablations`,
`studies.cures` and `studies.differences --measure` append lines to `studies/results`;
`python -m studies.render` computes `studies/pages` from them. Run from the root of the
repository.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
RESULTS, PAGES, TEMPLATES = (
    FOLDER / name for name in ("results", "pages", "templates")
)
# Lines of `dsgrl bench`.
BENCH_RESULTS = FOLDER.parent / "results"
