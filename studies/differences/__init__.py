"""Where our numbers differ from the paper's, explained by measurement.

`gaps` finds the cells, `changes` says what is tried on each, `program` holds the parts
of the authors' program, `judges` other probes and splits, `variants` measures, and
`page` writes docs/DIFFERENCES.md.
"""
