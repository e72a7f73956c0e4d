"""The colours of the page: readable, and apart for colour-blind readers."""

import itertools
import re

import numpy as np
import pytest

from dsgrl.report.page import read_asset

THEMES = ("light", "dark")
# Machado, Oliveira and Fernandes 2009, full severity, on linear RGB.
BLINDNESS = {
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
TO_LMS = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
TO_LAB = [
    [0.2105, 0.7936, -0.0041],
    [1.9780, -2.4286, 0.4506],
    [0.0259, 0.7828, -0.8087],
]


def linear(color: str) -> np.ndarray:
    value = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def palette(theme: str) -> dict[str, np.ndarray]:
    style = read_asset("page.css")
    pairs = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", style)
    return {name: linear(pair[THEMES.index(theme)]) for name, *pair in pairs}


def contrast(one: np.ndarray, two: np.ndarray) -> float:
    light = sorted(0.05 + color @ [0.2126, 0.7152, 0.0722] for color in (one, two))
    return float(light[1] / light[0])


def perceived(color: np.ndarray) -> np.ndarray:
    """Return a colour in OKLab, where distances are about those that people see."""
    return np.array(TO_LAB) @ np.cbrt(np.maximum(np.array(TO_LMS) @ color, 0))


@pytest.mark.parametrize("theme", THEMES)
def test_text__has_the_contrast_of_wcag_aa(theme: str) -> None:
    colors = palette(theme)
    for back in ("back", "panel"):
        for front in ("text", "quiet", "link"):
            assert contrast(colors[front], colors[back]) >= 4.5, (front, back)


@pytest.mark.parametrize("theme", THEMES)
def test_points__have_the_contrast_of_graphics(theme: str) -> None:
    colors = palette(theme)
    for name in [f"c{i}" for i in range(10)] + [f"r{i}" for i in range(5)] + ["other"]:
        assert contrast(colors[name], colors["back"]) >= 3, name


@pytest.mark.parametrize("theme", THEMES)
def test_categories__stay_apart_for_everyone(theme: str) -> None:
    colors = palette(theme)
    for kind, matrix in {"none": np.eye(3), **BLINDNESS}.items():
        seen = [
            perceived(np.clip(np.array(matrix) @ colors[f"c{i}"], 0, 1))
            for i in range(10)
        ]
        pairs = {
            (i, j): np.linalg.norm(seen[i] - seen[j])
            for i, j in itertools.combinations(range(10), 2)
        }
        closest = min(pairs, key=lambda pair: pairs[pair])
        assert pairs[closest] > 0.08, (kind, closest, pairs[closest])


@pytest.mark.parametrize("theme", THEMES)
def test_ramp__goes_one_way_in_lightness(theme: str) -> None:
    colors = palette(theme)
    for matrix in (np.eye(3), *map(np.array, BLINDNESS.values())):
        light = [
            perceived(np.clip(matrix @ colors[f"r{i}"], 0, 1))[0] for i in range(5)
        ]
        steps = np.diff(light) * (1 if theme == "dark" else -1)
        assert (steps > 0.03).all(), (theme, light)
