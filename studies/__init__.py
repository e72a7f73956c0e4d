"""The research record: what was measured to choose and to explain.

Not part of the package: `python -m studies.curves`, `python -m studies.ablations`, ...
record lines in `studies/results`, the pages in `studies/pages` are computed from them.
"""
