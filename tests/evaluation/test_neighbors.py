import numpy as np

from dsgrl.evaluation.neighbors import neighbor_votes

TRAIN = np.array([[0.0], [1.0], [2.0], [10.0]], dtype="f4")
TABLE = np.eye(3, dtype=int)[[0, 1, 1, 2]]


def test_votes__hand_counted() -> None:
    votes = neighbor_votes(TRAIN, TABLE, np.array([[0.2]], dtype="f4"), (1, 2, 3, 9))
    assert votes[1].tolist() == [[1, 0, 0]]
    assert votes[3].argmax() == 1
    np.testing.assert_allclose(votes[3], [[1 / 3, 2 / 3, 0]], atol=0.02)
    np.testing.assert_allclose(votes[9], [[0.25, 0.5, 0.25]], atol=0.02)


def test_votes__ties_go_to_the_nearer() -> None:
    rows = np.array([[0.2], [0.8]], dtype="f4")
    votes = neighbor_votes(TRAIN, TABLE, rows, (2,))
    assert votes[2].argmax(axis=1).tolist() == [0, 1]


def test_votes__being_near_never_outweighs_a_vote() -> None:
    """Of 21 rows, the nearest ten are of one class, the others of another."""
    train = np.arange(21, dtype="f4")[:, None]
    table = np.eye(2, dtype=int)[[0] * 10 + [1] * 11]
    votes = neighbor_votes(train, table, np.zeros((1, 1), "f4"), (21,))
    assert votes[21].argmax() == 1
