"""Training objectives as pure functions of embeddings.

`objective` has the paper's equations in the paper's order, `contrastive` the losses
that the baselines share.
"""
