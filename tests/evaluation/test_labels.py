import numpy as np
import pytest

from dsgrl.evaluation.labels import encode_labels
from dsgrl.typing import InputError


def test_encode__numbers_classes_and_marks_rows_without_one() -> None:
    for labels in (["b", None, "a", "b"], [7.0, np.nan, 2.0, 7.0], [7, -1, 2, 7]):
        targets = encode_labels(labels)
        assert targets.values.tolist() == [1, -1, 0, 1]
        assert targets.known.tolist() == [True, False, True, True]
        assert targets.num_classes == 2
        assert not targets.is_multi_label


def test_encode__a_table_of_yes_and_no_has_several_labels_a_row() -> None:
    targets = encode_labels([[0, 1, 1], [np.nan, 0, 0], [0, 0, 0]])
    assert targets.is_multi_label
    assert targets.values.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert targets.known.tolist() == [True, False, True]


def test_encode__one_column_is_one_label() -> None:
    assert encode_labels(np.array([[3], [5]])).values.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "a"], "1 class in 2 labels"),
        (np.zeros((2, 2, 2)), "shape"),
        ([[0, 2], [1, 1]], "other values than 0 and 1"),
        (np.array(["a", 1], dtype=object), "several kinds"),
    ],
)
def test_encode__refuses_what_it_cannot_tell_apart(
    labels: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        encode_labels(labels)  # type: ignore[arg-type]
