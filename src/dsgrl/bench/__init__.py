"""Measurements: one JSON line per case, ratios within one run."""

from dsgrl.bench.speed import run_speed

__all__ = ["run_speed"]
