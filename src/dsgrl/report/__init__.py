"""The page: one HTML file that shows what was learned, and opens without a network.

`gather` turns embeddings, the graph and the model into `Contents`, a plain structure of
arrays and text. `render` turns that into HTML. The two know nothing of each other.
"""
