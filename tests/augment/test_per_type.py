import torch

from dsgrl.augment import FeatureAugmenter, PerTypeAugmenter
from dsgrl.graph import Adjacency


def augmenter(**changes: int) -> PerTypeAugmenter:
    return PerTypeAugmenter([5, 3, 2], 4, **{"num_layers": 2, **changes})


def tables() -> tuple[torch.Tensor, ...]:
    return torch.randn(7, 5), torch.randn(4, 3), torch.randn(6, 2)


def test_per_type__rows_of_every_type_are_its_own_augmenters() -> None:
    learner, x = augmenter().eval(), tables()
    together = learner(x)
    assert together.shape == (17, 2, 4)
    parts = together.split([7, 4, 6])
    for part, table, single in zip(parts, x, learner.augmenters, strict=True):
        assert isinstance(single, FeatureAugmenter)
        torch.testing.assert_close(part, single(table))


def test_per_type__one_type_does_not_see_another() -> None:
    learner, x = augmenter().eval(), tables()
    other = learner((x[0], torch.randn(4, 3), x[2]))
    same = (learner(x) == other).flatten(1).all(1)
    assert same[:7].all()
    assert same[11:].all()
    assert not same[7:11].any()


def test_per_type__two_views_differ_from_the_start_in_every_type() -> None:
    for part in augmenter().eval()(tables()).split([7, 4, 6]):
        assert not torch.allclose(part[:, 0], part[:, 1])


def test_per_type__every_parameter_receives_a_gradient() -> None:
    learner = augmenter()
    views = learner(tables())
    (views * torch.randn(views.shape)).sum().backward()
    for name, parameter in learner.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


def test_per_type__stacked_weights_of_all_types() -> None:
    shapes = [tuple(weight.shape) for weight in augmenter().stacked_weights()]
    assert shapes == [(8, 5), (8, 4), (8, 3), (8, 4), (8, 2), (8, 4)]


def test_per_type__sparse_tables_and_types_without_nodes() -> None:
    learner, x = augmenter().eval(), tables()
    sparse = (Adjacency.from_dense(x[0]), x[1], x[2])
    torch.testing.assert_close(learner(sparse), learner(x))
    assert learner((x[0], torch.zeros(0, 3), x[2])).shape == (13, 2, 4)
