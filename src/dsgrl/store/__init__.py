"""Graphs larger than memory: tables become a folder of memory-mapped arrays.

`build_store` streams tables through DuckDB into such a folder, which a `Manifest`
describes. Nothing here loads torch; `dsgrl.graph.store` opens a folder for the engine.
"""
