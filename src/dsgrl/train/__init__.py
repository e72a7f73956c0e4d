"""The fit and the training loop shared by all methods.

Seeds are set in one function, collapse is measured every epoch, and `epochs="auto"`
stops by held-out links: labels are never used.
"""

from dsgrl.train.checkpoint import Checkpoints
from dsgrl.train.fit import begin, fit, fit_graph
from dsgrl.train.fitted import Fitted
from dsgrl.train.interrupt import Interrupted
from dsgrl.train.loop import History, Training, train
from dsgrl.train.seed import seeded
from dsgrl.train.setting import Labels

__all__ = [
    "Checkpoints",
    "Fitted",
    "History",
    "Interrupted",
    "Labels",
    "Training",
    "begin",
    "fit",
    "fit_graph",
    "seeded",
    "train",
]
