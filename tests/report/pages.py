"""Contents of small pages, made without training."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from dsgrl.explore.columns import Column, category_column
from dsgrl.explore.naming import Cluster
from dsgrl.report.contents import (
    Contents,
    LearnedEdges,
    LearnedViews,
    ScoreLine,
    StressedFeatures,
)

# Ids that must not be read as HTML, as the end of a script, or as a direction.
NASTY = [
    "</script><script>window.broken = 1</script>",
    "<img src=x onerror='window.broken = 1'>",
    "a & b < c > d \" e ' f",
    "emoji \U0001f600 \U0001f469\u200d\U0001f52c",
    "line\nbreak\ttab \u2028 \u2029",
    "\u202ereversed",
    "${window.broken = 1} `{{7*7}}` $title",
    "<!-- <script> -->",
    "",
    "x" * 300,
]


def make_contents(count: int = 60, **changes: Any) -> Contents:
    """Make a page of three groups of nodes, some with nasty ids."""
    random = np.random.default_rng(0)
    group = np.arange(count) % 3
    angle = 2 * np.pi * group / 3
    position = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 0.8
    position += random.uniform(-0.2, 0.2, size=position.shape)
    ids = [NASTY[i] if i < len(NASTY) else f"node-{i}" for i in range(count)]
    near = (np.arange(count)[:, None] + [3, 6, 9]) % count
    words = sp.csr_matrix((random.random((count, 8)) < 0.2).astype(np.float32))
    history = [
        {"epoch": float(e), "loss": 2 / (e + 1), "variance": 1.0, "effective_rank": 4.0}
        for e in range(20)
    ]
    values: dict[str, Any] = {
        "title": "Embedding of <b>nodes</b> & links",
        "what": "nodes",
        "summary": ["One <i>sentence</i>.", "Two.", "Three."],
        "ids": ids,
        "position": position.astype(np.float32),
        "layout": "PaCMAP",
        "near": near,
        "alike": np.full(near.shape, 0.5, np.float32),
        "columns": [
            Column("cluster", group, ["</style>first", "second", "third & last"]),
            category_column("label", [None, *("ab"[i % 2] for i in range(1, count))]),
            Column("degree", np.arange(count, dtype=np.float32)),
            Column("age", np.where(group == 0, np.nan, 30.5).astype(np.float32)),
        ],
        "features": words,
        "feature_names": [f"word {i}" for i in range(8)],
        "clusters": [
            Cluster(name, count // 3, ["<term>", "high age"], [0, 1], ("a", 0.7))
            for name in ("</style>first", "second", "third & last")
        ],
        "spectrum": np.array([0.6, 0.3, 0.1], np.float32),
        "effective_rank": 2.4,
        "history": history,
        "epoch": 12,
        "views": LearnedViews(
            "Both views are learned.",
            alikeness={"": 0.4},
            features=[StressedFeatures("", [("<x>", 0.2, 0.1)], [("y", 0.1, 0.2)])],
            edges=LearnedEdges(
                count=10,
                new=6,
                own=12,
                weights=np.linspace(0, 1, 10, dtype=np.float32),
                agreement={"learned, new": 0.5, "random pairs": 0.3},
                examples=[(NASTY[0], NASTY[1], 0.9)],
            ),
        ),
        "scores": [ScoreLine("raw features", 50, 1), ScoreLine("this", 70.2, 1.5)],
        "scored": "Accuracy in %.",
        "settings": {"lr": 0.01, "<name>": "<value>"},
        "versions": {"dsgrl": "0.1.0"},
        "command": "dsgrl embed 'my edges.csv' -o z.parquet",
        "seed": 0,
    }
    return Contents(**{**values, **changes})
