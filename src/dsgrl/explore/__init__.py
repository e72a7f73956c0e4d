"""Next steps from an embedding: neighbours, clusters, predictions, checks.

Everything here sees vectors and what is known of their rows, not how the vectors were
made. The commands `dsgrl neighbors | cluster | classify | check` and the page of
`dsgrl report` are built on it.
"""
