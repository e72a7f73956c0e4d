"""Authors write papers: vectors for both, from tables of pandas."""

import pandas as pd

from dsgrl import DSGRL, evaluate, read_graph

TOPICS = ["graphs trees paths", "pixels edges colours", "words grammar topics"]

authors = pd.DataFrame(
    {"id": range(60), "country": [("it", "de", "no")[i % 5 % 3] for i in range(60)]}
)
papers = pd.DataFrame(
    {
        "id": range(120),
        "title": [f"on {TOPICS[i % 3]}" for i in range(120)],
        "year": [2000 + i % 20 for i in range(120)],
        "label": [TOPICS[i % 3].split()[0] for i in range(120)],
    }
)
# Both types have ids from 0; the names of the columns say which type is meant.
wrote = pd.DataFrame(
    {"author": [i % 60 for i in range(240)], "paper": [i * 7 % 120 for i in range(240)]}
)

data = read_graph({"wrote": wrote}, {"authors": authors, "papers": papers})
z = DSGRL(epochs=20, random_state=0).fit_transform(data)
print({kind: table.shape for kind, table in z.items()})

score = evaluate(z["papers"], data["papers"].y)
print(f"topic of a paper from its vector: {score.mean:.1f} +- {score.std:.1f} %")
