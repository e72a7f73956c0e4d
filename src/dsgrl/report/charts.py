"""Small charts as inline SVG; their colours are those of the page's style."""

import math
from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from dsgrl.typing import FloatArray

WIDTH, HEIGHT = 320, 170
LEFT, RIGHT, TOP, BOTTOM = 48, 10, 12, 26
BARS = 24
# From a value to a place in the drawing.
Scale = Callable[[float], float]
# More points than pixels cannot be seen.
MOST_POINTS = 400


def line_chart(
    title: str,
    x: Sequence[float],
    y: Sequence[float],
    *,
    axis: str = "epoch",
    mark: float | None = None,
    is_log: bool = False,
) -> str:
    """Draw a line.

    Args:
        title: of the chart, above it.
        x: positions, ascending.
        y: heights; those that are not finite are left out.
        axis: what x is.
        mark: position of a vertical line.
        is_log: whether heights are on a log scale; those of 0 and less are left out.
    """
    pairs = [(a, b) for a, b in zip(x, y, strict=True) if math.isfinite(b)]
    if is_log:
        pairs = [(a, b) for a, b in pairs if b > 0]
    if not pairs:
        return ""
    step = -(-len(pairs) // MOST_POINTS)
    pairs = [*pairs[::step], *([pairs[-1]] if (len(pairs) - 1) % step else [])]
    xs, ys = [a for a, _ in pairs], [b for _, b in pairs]
    heights = [math.log10(b) for b in ys] if is_log else ys
    low, high = _span(heights)
    first, last = min(xs), max(xs)
    across = _scale(first, last if last > first else first + 1, LEFT, WIDTH - RIGHT)
    up = _scale(low, high, HEIGHT - BOTTOM, TOP)
    parts = [_grid(low, high, up, is_log=is_log), _ends(axis, first, last)]
    if mark is not None and first <= mark <= last:
        at = across(mark)
        parts.append(f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" ')
        parts.append(f'y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
    points = [f"{across(a):.1f},{up(b):.1f}" for a, b in zip(xs, heights, strict=True)]
    if len(points) == 1:
        a, b = points[0].split(",")
        parts.append(f'<circle class="dot" cx="{a}" cy="{b}" r="3"/>')
    else:
        parts.append(f'<polyline class="line" points="{" ".join(points)}"/>')
    label = (
        f"{title}: {short(ys[0])} at {axis} {xs[0]:g}, {short(ys[-1])} at {axis} "
        f"{xs[-1]:g}, lowest {short(min(ys))}, highest {short(max(ys))}"
    )
    return _figure(title, label, "".join(parts))


def histogram(title: str, values: FloatArray, axis: str) -> str:
    """Draw how often values occur."""
    if not len(values):
        return ""
    counts, edges = np.histogram(values, bins=BARS)
    low, high = float(edges[0]), float(edges[-1])
    up = _scale(0, float(counts.max()), HEIGHT - BOTTOM, TOP)
    width = (WIDTH - LEFT - RIGHT) / BARS
    bars = "".join(
        f'<rect class="bar" x="{LEFT + i * width:.1f}" y="{up(count):.1f}" '
        f'width="{width - 1:.1f}" height="{HEIGHT - BOTTOM - up(count):.1f}"/>'
        for i, count in enumerate(counts.tolist())
    )
    label = (
        f"{title}: {len(values):,} values from {short(low)} to {short(high)}, half of "
        f"them below {short(float(np.median(values)))}"
    )
    grid = _grid(0, float(counts.max()), up, is_log=False)
    return _figure(title, label, grid + bars + _ends(axis, low, high))


def short(value: float) -> str:
    """Write a number with about three digits."""
    if value and (abs(value) < 1e-3 or abs(value) >= 1e6):
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _span(heights: list[float]) -> tuple[float, float]:
    low, high = min(heights), max(heights)
    if high - low > 1e-9 * max(abs(high), abs(low), 1e-300):
        return low, high
    room = abs(high) * 0.1 or 1.0
    return low - room, high + room


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    factor = (end - start) / max(high - low, 1e-300)
    return lambda value: start + (value - low) * factor


def _grid(low: float, high: float, up: Scale, *, is_log: bool) -> str:
    """Draw three heights with their values."""
    parts = []
    for value in (low, (low + high) / 2, high):
        at = up(value)
        shown = short(10**value if is_log else value)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" '
            f'y2="{at:.1f}"/><text x="{LEFT - 5}" y="{at + 4:.1f}" '
            f'text-anchor="end">{shown}</text>'
        )
    return "".join(parts)


def _ends(axis: str, first: float, last: float) -> str:
    at = HEIGHT - 8
    middle = (LEFT + WIDTH - RIGHT) / 2
    return (
        f'<text x="{LEFT}" y="{at}">{short(first)}</text>'
        f'<text x="{middle}" y="{at}" text-anchor="middle">{escape(axis)}</text>'
        f'<text x="{WIDTH - RIGHT}" y="{at}" text-anchor="end">{short(last)}</text>'
    )


def _figure(title: str, label: str, drawing: str) -> str:
    return (
        f'<figure class="chart"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
        f"{drawing}</svg></figure>"
    )
