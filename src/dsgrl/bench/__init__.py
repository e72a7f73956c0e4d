"""Measurements and tables: one JSON line per cell, ratios within one run."""
