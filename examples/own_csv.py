"""Two CSV files to vectors, neighbours, and a model for nodes that come later."""

from pathlib import Path

from dsgrl import DSGRL, load_model, read_graph
from dsgrl.explore.vectors import nearest_rows

TOWNS = ["Lyon", "Oslo", "Gdansk"]

# A table of nodes with a category, a date and missing values; friends live close.
rows = [
    f"user{i},{TOWNS[i % 3]},{'' if i % 7 == 0 else 20 + i % 40},2020-0{1 + i % 9}-01"
    for i in range(150)
]
Path("nodes.csv").write_text("\n".join(["id,town,age,since", *rows]) + "\n")
pairs = [f"user{i},user{(i + 3 * k) % 150}" for i in range(150) for k in (1, 2, 7)]
Path("edges.csv").write_text("\n".join(["from,to", *pairs]) + "\n")

data = read_graph("edges.csv", "nodes.csv")
print(*data.understood.lines(), sep="\n")

model = DSGRL(epochs=20, random_state=0)
z = model.fit_transform(data)  # [150, 256]
near, similarity = nearest_rows(z, 3, [0])
print("nearest to user0:", [data.ids[i] for i in near[0]], similarity[0].round(2))

# Next month: the same columns, one more user. Categories and scales are the model's.
model.save("model")
Path("new_nodes.csv").write_text("id,town,age,since\nnewcomer,Rome,,2024-05-01\n")
Path("new_edges.csv").write_text("from,to\nnewcomer,newcomer\n")
later = load_model("model")
unseen = read_graph("new_edges.csv", "new_nodes.csv", like=later)
print("unseen:", later.transform(unseen).shape)
