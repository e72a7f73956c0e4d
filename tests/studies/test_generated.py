"""The study of generated graphs."""

from pathlib import Path

from studies.generated import CASES, METHODS, generate, run_cases


def test_run_cases__one_line_per_method_and_goes_on_where_it_was(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lines.jsonl"
    lines = list(run_cases(["3 columns"], [0], path))
    assert [line["method"] for line in lines] == list(METHODS)
    assert all(25 < line["mean"] <= 100 for line in lines)
    assert list(run_cases(["3 columns"], [0], path)) == []


def test_generate__links_stay_in_communities_as_asked() -> None:
    for case in CASES.values():
        data = generate(case, 0)
        one, other = data.y[data.edge_index]
        assert abs(float((one == other).float().mean()) - case.inside) < 0.1
        degree = data.edge_index.size(1) / case.nodes
        assert abs(degree / case.degree - 1) < 0.2
