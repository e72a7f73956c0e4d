import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from dsgrl.evaluation.metrics import METRICS, accuracy, macro_f1, micro_f1, roc_auc
from dsgrl.typing import InputError

# Predicted classes: 0 0 1 1 2.
CHANCES = np.array(
    [
        [0.8, 0.1, 0.1],
        [0.6, 0.3, 0.1],
        [0.2, 0.7, 0.1],
        [0.1, 0.5, 0.4],
        [0.3, 0.3, 0.4],
    ]
)
Y = np.array([0, 1, 1, 1, 0])


def test_accuracy__hand_computed() -> None:
    assert accuracy(CHANCES, Y) == 60


def test_f1__hand_computed() -> None:
    # Class 0: 1 hit, 2 predicted, 2 actual: 2 / 4. Class 1: 2 hits, 2 predicted,
    # 3 actual: 4 / 5. Class 2: predicted once, never actual: 0.
    assert macro_f1(CHANCES, Y) == pytest.approx(100 * (0.5 + 0.8 + 0) / 3)
    assert micro_f1(CHANCES, Y) == pytest.approx(60)


def test_f1__hand_computed_for_several_labels() -> None:
    y = np.array([[1, 1, 0], [0, 1, 0]])
    chances = np.array([[0.9, 0.2, 0.6], [0.1, 0.8, 0.3]])
    # Predicted: first and third; second. Hits 2, predicted 3, actual 3.
    assert micro_f1(chances, y) == pytest.approx(100 * 4 / 6)
    # Labels: 2 / 2, 2 / 3, 0 / 1.
    assert macro_f1(chances, y) == pytest.approx(100 * (1 + 2 / 3 + 0) / 3)
    assert accuracy(chances, y) == 50


def test_f1__as_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    chances, y = rng.random((200, 5)), rng.integers(0, 4, 200)
    for name, average in (("macro_f1", "macro"), ("micro_f1", "micro")):
        expected = f1_score(y, chances.argmax(axis=1), average=average)
        assert METRICS[name](chances, y) == pytest.approx(100 * expected)


def test_roc_auc__hand_computed_and_as_scikit_learn() -> None:
    two = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]])
    # Of four pairs of rows of the two classes, three are in order.
    assert roc_auc(two, np.array([0, 0, 1, 1])) == 75
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.ones(4), 200)
    y = rng.integers(0, 4, 200)
    expected = roc_auc_score(y, chances, multi_class="ovr", average="macro")
    assert roc_auc(chances, y) == pytest.approx(100 * expected)


def test_roc_auc__classes_not_there_are_left_out() -> None:
    chances = np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]])
    assert roc_auc(chances, np.array([0, 1])) == 100
    with pytest.raises(InputError, match="one class"):
        roc_auc(chances, np.array([1, 1]))
