"""One loop for every method, and what it watches.

Seeds are set in one function, collapse is measured every epoch, and `epochs="auto"`
stops by held-out links: no label is ever looked at.
"""

from dsgrl.train.loop import DivergenceError, History, TrainConfig, train
from dsgrl.train.seed import seeded

__all__ = ["DivergenceError", "History", "TrainConfig", "seeded", "train"]
