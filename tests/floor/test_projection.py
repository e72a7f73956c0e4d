import numpy as np
import pytest
import torch
from torch import Tensor

from dsgrl.floor import Projection, projection
from dsgrl.graph import Adjacency


def make_rows(num_rows: int = 60, columns: int = 20, rank: int = 20) -> Tensor:
    """Give rows whose singular values are far apart: each is 0.7 of the one before."""
    generator = torch.Generator().manual_seed(3)
    left, right = (
        torch.linalg.qr(torch.randn(n, rank, generator=generator))[0]
        for n in (num_rows, columns)
    )
    return 9 * left @ torch.diag(0.7 ** torch.arange(rank)) @ right.t()


def table(rows: Tensor, is_sparse: bool) -> Tensor | Adjacency:
    return Adjacency.from_dense(rows) if is_sparse else rows


def leading(rows: Tensor, count: int) -> Tensor:
    """Return the leading right singular vectors [F, count], computed by NumPy."""
    right = np.linalg.svd(rows.double().numpy())[2]
    return torch.from_numpy(right[:count].T.copy()).float()


def assert_same_up_to_signs(found: Tensor, wanted: Tensor, atol: float) -> None:
    signs = (found * wanted).sum(dim=0).sign()
    assert (signs != 0).all()
    torch.testing.assert_close(found * signs, wanted, rtol=0, atol=atol)


@pytest.mark.parametrize("num_rows", [60, 12])
def test_fit__dense_rows_are_those_of_the_svd(num_rows: int) -> None:
    rows = make_rows(num_rows, rank=min(num_rows, 20))
    fitted = Projection(20, 6).fit(rows)
    directions = leading(rows, 6)
    assert_same_up_to_signs(fitted.weight, directions, 1e-4)
    assert_same_up_to_signs(fitted(rows), rows @ directions, 1e-4)
    unseen = torch.randn(5, 20)
    torch.testing.assert_close(fitted(unseen), unseen @ fitted.weight)


def test_fit__sparse_rows_are_those_of_the_svd() -> None:
    rows = make_rows()
    rows = torch.where(rows.abs() > rows.abs().median(), rows, 0.0)
    sparse = Adjacency.from_dense(rows)
    assert sparse.num_edges == rows.numel() // 2
    fitted = Projection(20, 3).fit(sparse)
    assert_same_up_to_signs(fitted.weight, leading(rows, 3), 1e-2)
    torch.testing.assert_close(fitted(sparse), fitted(rows), rtol=1e-4, atol=1e-4)


def test_fit__many_dense_columns_are_those_of_the_svd(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(projection, "EXACT_UP_TO", 19)
    rows = make_rows()
    assert_same_up_to_signs(Projection(20, 6).fit(rows).weight, leading(rows, 6), 1e-2)


def test_fit__does_not_subtract_the_mean() -> None:
    """The first direction of rows far from zero is their mean."""
    rows = 10 + torch.randn(200, 8)
    first = Projection(8, 2).fit(rows).weight[:, 0]
    torch.testing.assert_close(first, torch.full((8,), 8**-0.5), rtol=0.02, atol=0)


@pytest.mark.parametrize("size", [1, 7, 60])
def test_fit_blocks__gives_what_all_rows_at_once_give(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = make_rows()
    whole = Projection(20, 6).fit(rows).weight
    blocks = Projection(20, 6).fit_blocks(iter(rows.split(size))).weight
    torch.testing.assert_close(blocks, whole, rtol=0, atol=1e-5)
    monkeypatch.setattr(projection, "BLOCK_ROWS", size)
    torch.testing.assert_close(
        Projection(20, 6).fit(rows).weight, whole, rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("num_rows", [80, 2])
def test_fit__again_gives_the_same_bits(is_sparse: bool, num_rows: int) -> None:
    """Neither random numbers nor earlier data have an influence."""
    rows = torch.randn(80, 60)
    given = table(rows[:num_rows], is_sparse)
    one = Projection(60, 6).fit(given)
    torch.manual_seed(7)
    np.random.seed(7)  # noqa: NPY002
    other = Projection(60, 6).fit(table(rows[40:], is_sparse)).fit(given)
    assert torch.equal(one.weight, other.weight)


def test_fit__signs_do_not_depend_on_those_of_the_rows() -> None:
    """Only the largest entry of a direction decides: it is positive."""
    rows = make_rows()
    weight = Projection(20, 6).fit(rows).weight
    largest = weight.gather(0, weight.abs().argmax(dim=0, keepdim=True))
    assert (largest > 0).all()
    other = Projection(20, 6).fit(-rows.flip(0)).weight
    torch.testing.assert_close(other, weight, rtol=0, atol=1e-5)


@pytest.mark.parametrize("out_channels", [20, 25])
def test_forward__keeps_rows_if_there_are_no_more_columns(out_channels: int) -> None:
    rows = make_rows()
    kept = Projection(20, out_channels)
    assert kept.out_channels == 20
    for fitted in (kept, kept.fit(rows), kept.fit_blocks([rows])):
        assert torch.equal(fitted(rows), rows)
        assert torch.equal(fitted(Adjacency.from_dense(rows)), rows)
    assert not kept.weight.numel()


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("num_rows", [60, 2])
def test_forward__columns_beyond_the_rank_are_zeros(
    is_sparse: bool, num_rows: int
) -> None:
    rows = make_rows(rank=3)[:num_rows]
    rank = min(num_rows, 3)
    found = Projection(20, 8).fit(table(rows, is_sparse))(rows)
    assert found.shape == (num_rows, 8)
    assert (found[:, :rank].norm(dim=0) > 0.1).all()
    torch.testing.assert_close(
        found[:, rank:], torch.zeros(num_rows, 8 - rank), rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("num_rows", [60, 2])
def test_fit__directions_beyond_the_rank_are_zeros(
    is_sparse: bool, num_rows: int
) -> None:
    """What unseen rows have and the data had not must not get a column."""
    rows = make_rows(rank=3)[:num_rows]
    unseen = Projection(20, 8).fit(table(rows, is_sparse))(torch.randn(5, 20))
    beyond = unseen[:, min(num_rows, 3) :]
    torch.testing.assert_close(beyond, torch.zeros_like(beyond), rtol=0, atol=1e-4)


@pytest.mark.parametrize(("is_sparse", "num_rows"), [(0, 0), (0, 4), (1, 4)])
def test_fit__rows_of_zeros_have_no_directions(is_sparse: bool, num_rows: int) -> None:
    fitted = Projection(20, 8).fit(table(torch.zeros(num_rows, 20), is_sparse))
    assert torch.isfinite(fitted.weight).all()
    torch.testing.assert_close(
        fitted(torch.ones(5, 20)), torch.zeros(5, 8), rtol=0, atol=1e-4
    )


def test_state_dict__round_trip() -> None:
    rows = make_rows()
    one, other = Projection(20, 6).fit(rows), Projection(20, 6)
    assert not torch.equal(one(rows), other(rows))
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(rows), other(rows))
