"""Search for better parameters with Optuna, by validation rows or without any label.

As in the paper, only one split takes part, and of it only training and validation
rows: those of the test are taken away before anything looks at a label. The labelled
rows are dealt several times, since few of them tell little. A study lives in a file (or
any storage Optuna knows, to be shared by several machines) and goes on where it was
left.
"""

from dsgrl.tune.criteria import label_free_score
from dsgrl.tune.tuning import Tuned, tune

__all__ = ["Tuned", "label_free_score", "tune"]
