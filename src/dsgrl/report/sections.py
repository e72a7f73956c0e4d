"""The sections of a page that are plain HTML; all text is escaped here."""

from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from dsgrl.report.charts import histogram, line_chart, short
from dsgrl.report.contents import Contents, LearnedEdges, StressedFeatures

# Colours of the style that tell categories apart.
NUM_COLOURS = 10
# Series of the history that are not terms of the loss.
HEALTH = {
    "loss": "Loss",
    "link_auc": "AUC of hidden links",
    "effective_rank": "Effective rank",
    "deviation": "Deviation per column",
    "deviation_min": "Smallest deviation",
}


def summary_section(contents: Contents, notes: list[str]) -> str:
    """What was learned in three sentences, and what to know about the page."""
    parts = [_paragraph(sentence) for sentence in contents.summary]
    parts += [f'<p class="note">{escape(note)}</p>' for note in notes]
    return _section("summary", "What was learned", *parts, css="lead")


def cluster_section(contents: Contents) -> str:
    """Every cluster: name, size, what it has more of, and its most central ids."""
    cards = []
    for number, cluster in enumerate(contents.clusters):
        color = f"c{number}" if number < NUM_COLOURS else "other"
        share = cluster.size / max(len(contents.ids), 1)
        central = ", ".join(_name(contents.ids[i]) for i in cluster.central)
        lines = [
            f"<p>{cluster.size:,} {contents.what}, {100 * share:.0f} %</p>",
            f"<p><b>Most central:</b> {central}</p>",
        ]
        if cluster.terms:
            terms = ", ".join(_name(term) for term in cluster.terms)
            lines.insert(1, f"<p><b>More of:</b> {terms}</p>")
        if cluster.label is not None:
            name, part = cluster.label
            lines.append(
                f"<p><b>Main label:</b> {_name(name)} ({100 * part:.0f} %)</p>"
            )
        cards.append(
            f'<div class="card"><h3><span class="swatch" style="background:'
            f'var(--{color})"></span><span>{_name(cluster.name)}</span></h3>'
            f"{''.join(lines)}</div>"
        )
    return _section(
        "clusters",
        "Clusters",
        _paragraph(
            "Found by k-means on the vectors. A cluster is named by the columns and "
            "words it has more of than the rest; labels are not used for the name."
        ),
        f'<div class="cards">{"".join(cards)}</div>',
    )


def score_section(contents: Contents) -> str:
    """Scores with the controls beside them."""
    if not contents.scores:
        text = contents.scored or (
            "There are no labels, so nothing was scored. 'dsgrl check' says what can "
            "be said without labels, 'dsgrl evaluate' takes a table of labels."
        )
        return _section("scores", "Scores", _paragraph(text))
    rows = []
    for line in contents.scores:
        name = f"<b>{escape(line.name)}</b>"
        if line.note:
            name += f"<br>{escape(line.note)}"
        bar = f'<div class="track"><div style="width:{min(line.mean, 100):.1f}%"></div>'
        rows.append((name, f"{line.mean:.1f} &plusmn; {line.std:.1f}{bar}</div>"))
    table = _table(("vectors", "mean and deviation"), rows, numeric=frozenset({1}))
    return _section("scores", "Scores", _paragraph(contents.scored), table)


def training_section(contents: Contents) -> str:
    """Loss terms, collapse diagnostics and held-out links over the epochs."""
    names = dict.fromkeys(name for row in contents.history for name in row)
    terms = [name for name in names if name not in HEALTH and name != "epoch"]
    order = ["loss", *terms, *list(HEALTH)[1:]]
    charts = []
    for name in (name for name in order if name in names):
        rows = [row for row in contents.history if name in row]
        title = HEALTH.get(name, f"Loss term: {name}")
        x, y = [row["epoch"] for row in rows], [row[name] for row in rows]
        charts.append(line_chart(title, x, y, mark=contents.epoch))
    if not any(charts):
        text = "No training was recorded for these vectors."
        return _section("training", "Training", _paragraph(text))
    kept = ""
    if contents.epoch is not None:
        kept = f" The dashed line is epoch {contents.epoch}, which was kept."
    text = (
        "All figures are of what is learned, without the training-free part. A rank "
        f"near 1 or a deviation near 0 would mean a collapse.{kept}"
    )
    grid = f'<div class="charts">{"".join(charts)}</div>'
    return _section("training", "Training", _paragraph(text), grid)


def spectrum_section(contents: Contents) -> str:
    """How the variance is spread over the directions of the embedding."""
    share = contents.spectrum
    total = np.cumsum(share)
    leading = int(np.searchsorted(total, 0.9)) + 1
    text = (
        f"{leading} of {len(share)} directions have 90 % of the variance; the "
        f"effective rank is {contents.effective_rank:.1f}."
    )
    ranks = np.arange(1, len(share) + 1).tolist()
    charts = line_chart(
        "Share of the variance, log scale",
        ranks,
        share.tolist(),
        axis="direction",
        is_log=True,
    ) + line_chart("Share so far", ranks, total.tolist(), axis="direction")
    grid = f'<div class="charts">{charts}</div>'
    return _section("spectrum", "Spectrum", _paragraph(text), grid)


def views_section(contents: Contents) -> str:
    """What was learned for the two views, or that nothing was."""
    views = contents.views
    if views is None:
        text = "No model was given: nothing is known of the views it was trained on."
        return _section("views", "The two views", _paragraph(text))
    parts = [_paragraph(views.kind)]
    if not views.is_learned:
        parts.append(_paragraph("Nothing was learned for the views themselves."))
    for kind, value in views.alikeness.items():
        of = f" of type '{kind}'" if kind else ""
        parts.append(
            _paragraph(
                f"The features of the two views{of} are alike to {100 * value:.0f} % "
                f"(linear CKA: 100 % if one is a rotation of the other, near 0 if they "
                f"have nothing in common)."
            )
        )
    for stressed in views.features:
        parts.append(_stressed(stressed))
    if views.edges is not None:
        parts.append(_edges(views.edges))
    return _section("views", "The two views", *parts)


def settings_section(contents: Contents) -> str:
    """What is needed to make the same page again."""
    parts = []
    if contents.command:
        parts.append(f"<pre>{escape(contents.command)}</pre>")
    versions = ", ".join(f"{k} {v}" for k, v in contents.versions.items())
    seed = "" if contents.seed is None else f"Seed {contents.seed}. "
    parts.append(_paragraph(f"{seed}Versions: {versions}."))
    if contents.settings:
        rows = [
            (_name(k), f"<code>{escape(str(v))}</code>")
            for k, v in contents.settings.items()
        ]
        table = _table(("parameter", "value"), rows)
        parts.append(f"<details><summary>All settings</summary>{table}</details>")
    return _section("settings", "To make it again", *parts)


def _stressed(stressed: StressedFeatures) -> str:
    of = f" of type '{stressed.title}'" if stressed.title else ""
    tables = []
    for title, entries in (("first", stressed.first), ("second", stressed.second)):
        rows = [
            (_name(name), f"{100 * one:.2f} %", f"{100 * two:.2f} %")
            for name, one, two in entries
        ]
        head = (f"stressed by the {title} view", "view 1", "view 2")
        tables.append(_table(head, rows, numeric=frozenset({1, 2})))
    return (
        f"<h3>Columns{escape(of)} that one view stresses more</h3>"
        + _paragraph(
            "Share of all weight in the first layer of each view's network, where a "
            "column's weight is multiplied by its deviation."
        )
        + f'<div class="charts">{"".join(tables)}</div>'
    )


def _edges(edges: LearnedEdges) -> str:
    share = edges.new / max(edges.count, 1)
    parts = [
        "<h3>Learned edges</h3>",
        _paragraph(
            f"{edges.count:,} edges were learned; {edges.new:,} of them "
            f"({100 * share:.0f} %) are new, the others are among the {edges.own:,} "
            f"edges of the graph."
        ),
    ]
    if edges.agreement:
        rows = [(escape(k), f"{100 * v:.1f} %") for k, v in edges.agreement.items()]
        parts.append(
            _table(("edges", "join equal labels"), rows, numeric=frozenset({1}))
        )
    chart = histogram("Weights of the learned edges", edges.weights, "weight")
    parts.append(f'<div class="charts">{chart}</div>')
    if edges.examples:
        lines = [(_name(a), _name(b), short(w)) for a, b, w in edges.examples]
        parts.append("<h3>New edges of the largest weight</h3>")
        head = ("one end", "other end", "weight")
        parts.append(_table(head, lines, numeric=frozenset({2})))
    return "".join(parts)


def _section(name: str, title: str, *parts: str, css: str = "") -> str:
    look = f' class="{css}"' if css else ""
    return (
        f'<section id="{name}"{look} aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{escape(title)}</h2>{"".join(parts)}</section>'
    )


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _name(text: Any) -> str:
    """Write a user's text; its direction of writing does not leak out."""
    return f"<bdi>{escape(str(text))}</bdi>"


def _table(
    head: Iterable[str],
    rows: Iterable[Iterable[str]],
    numeric: frozenset[int] = frozenset(),
) -> str:
    """Write a table of HTML cells; the head is text."""

    def row(cells: Iterable[str], tag: str) -> str:
        made = (
            f"<{tag}{' class=num' if i in numeric else ''}>{cell}</{tag}>"
            for i, cell in enumerate(cells)
        )
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    top = row((escape(cell) for cell in head), "th")
    # A narrow screen scrolls the table, also by keyboard.
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Table">'
        f"<table><thead>{top}</thead>"
        f"<tbody>{body}</tbody></table></div>"
    )
