"""Hyper-parameter search with Optuna, by validation rows or without labels.

As in the paper, the search uses one split, and of it only the training and validation
rows; the labels of the test rows are removed first. The labelled rows are resampled
several times, because a score on few rows is noisy. A study is stored in a file, or in
any Optuna storage that several machines share, and can be resumed.
"""

from dsgrl.tune.criteria import label_free_score
from dsgrl.tune.tuning import Tuned, tune

__all__ = ["Tuned", "label_free_score", "tune"]
