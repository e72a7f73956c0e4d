"""One vector per graph: handwritten digits as graphs of their pixels."""

from dsgrl import DSGRL, embedder, evaluate, read_graph

graphs = read_graph("digits-graphs")[:400]
digits = [int(graph.y) for graph in graphs]

# The control first: histograms need no training.
for model in (embedder("histograms")(), DSGRL(epochs=3, random_state=0)):
    z = model.fit_transform(graphs)  # [400, 256]
    score = evaluate(z, digits)
    print(f"{type(model).__name__}: {score.mean:.1f} +- {score.std:.1f} %")
