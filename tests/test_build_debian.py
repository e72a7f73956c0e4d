import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from loading import load_script

SCRIPT = Path(__file__).parents[1] / "scripts" / "build_debian.py"

INDEX = """\
Package: alpha
Section: editors
Depends: beta (>= 1.2), gamma:any | delta
Recommends: kernel
Description: small text editor

Package: beta
Section: editors
Suggests: alpha, beta,
 epsilon [amd64]
Description: Text viewer, fast Text

Package: gamma
Section: games
Description: text game

Package: delta
Section: games
Pre-Depends: gamma (= 1:2.0-1) | missing
Description: fast game

Package: epsilon
Section: math
Description: numbers

Package: kernel
Section: admin
Depends: alpha
Description: text text fast
"""

TEAM_INDEX = """\
Package: alpha
Section: editors
Maintainer: Ann Author <ann@example.org>
Tag: role::program, use::editing,
 interface::text

Package: beta
Section: games
Maintainer: "Team, The" <team@example.org>, Ann Author <ann@other.example>
Tag: role::program

Package: gamma
Section: games
Maintainer: <only@example.org>

Package: delta
Section: admin
Maintainer: Left Out <out@example.org>
Tag: left::out
"""


class Parts(NamedTuple):
    names: list[str]
    words: list[str]
    sections: dict[str, str]
    links: set[tuple[str, str, str]]
    described: dict[str, list[str]]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("build_debian")


def build_arrays(script: ModuleType, index: str) -> dict[str, np.ndarray]:
    packages, links = script.choose(index.splitlines(keepends=True))
    arrays: dict[str, np.ndarray] = script.build(packages, links)
    return arrays


def build_hetero(script: ModuleType, index: str) -> dict[str, np.ndarray]:
    packages, _ = script.choose(index.splitlines(keepends=True))
    arrays: dict[str, np.ndarray] = script.build_hetero(packages)
    return arrays


def pairs(script: ModuleType, relation: str, kind: str, index: str) -> set[Any]:
    """Return (package, maintainer or tag) by name."""
    names = build(script, index).names
    arrays = build_hetero(script, index)
    others = arrays[kind].tobytes().decode().split("\n")
    return {(names[i], others[j]) for i, j in arrays[relation].T.tolist()}


def build(script: ModuleType, index: str = INDEX) -> Parts:
    """Build and say in names what the arrays say in numbers."""
    arrays = build_arrays(script, index)
    names, words, sections, relations = (
        arrays[key].tobytes().decode().split("\n")
        for key in ("names", "words", "sections", "relations")
    )
    columns = (arrays[key].tolist() for key in ("source", "target", "relation"))
    rows = np.split(arrays["word_indices"], arrays["word_offsets"][1:-1])
    return Parts(
        names=names,
        words=words,
        sections={
            name: sections[i]
            for name, i in zip(names, arrays["section"].tolist(), strict=True)
        },
        links={
            (names[s], names[t], relations[r]) for s, t, r in zip(*columns, strict=True)
        },
        described={
            name: [words[i] for i in row] for name, row in zip(names, rows, strict=True)
        },
    )


def assert_same_arrays(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    assert a.keys() == b.keys()
    for key in a:
        assert a[key].dtype == b[key].dtype
        assert np.array_equal(a[key], b[key]), key


def targets(parts: Parts, name: str, relation: str) -> set[str]:
    return {t for s, t, r in parts.links if (s, r) == (name, relation)}


@pytest.mark.parametrize("seed", range(5))
def test_build__order_of_stanzas_does_not_matter(script: ModuleType, seed: int) -> None:
    stanzas = INDEX.strip().split("\n\n")
    order = np.random.default_rng(seed).permutation(len(stanzas))
    shuffled = "\n\n".join(stanzas[i] for i in order) + "\n"
    assert_same_arrays(build_arrays(script, INDEX), build_arrays(script, shuffled))


def test_build__order_of_two_stanzas_of_one_package_does_not_matter(
    script: ModuleType,
) -> None:
    other = "Package: gamma\nSection: games\nDepends: epsilon\nDescription: other\n"
    first = build_arrays(script, f"{other}\n{INDEX}")
    last = build_arrays(script, f"{INDEX}\n{other}")
    assert_same_arrays(first, last)
    assert build(script, f"{other}\n{INDEX}").names == build(script).names


def test_build__alternatives_are_all_linked(script: ModuleType) -> None:
    assert {"gamma", "delta"} <= targets(build(script), "alpha", "Depends")


def test_build__versions_and_architectures_are_stripped(script: ModuleType) -> None:
    parts = build(script)
    assert targets(parts, "alpha", "Depends") == {"beta", "gamma", "delta"}
    assert targets(parts, "delta", "Pre-Depends") == {"gamma"}
    assert targets(parts, "beta", "Suggests") == {"alpha", "epsilon"}


def test_build__no_package_is_linked_to_itself(script: ModuleType) -> None:
    assert all(source != target for source, target, _ in build(script).links)


def test_build__other_sections_are_left_out(script: ModuleType) -> None:
    parts = build(script)
    assert parts.names == ["alpha", "beta", "delta", "epsilon", "gamma"]
    assert targets(parts, "alpha", "Recommends") == set()


def test_build__labels_are_the_sections(script: ModuleType) -> None:
    assert build(script).sections == {
        "alpha": "editors",
        "beta": "editors",
        "delta": "games",
        "epsilon": "math",
        "gamma": "games",
    }


def test_build__rare_words_are_left_out(script: ModuleType) -> None:
    # "text" stands in three descriptions; "fast" in three, but one is left out.
    parts = build(script)
    assert parts.words == ["text"]
    has_text = {name for name, words in parts.described.items() if words == ["text"]}
    assert has_text == {"alpha", "beta", "gamma"}
    assert parts.described["delta"] == parts.described["epsilon"] == []


def test_build__more_descriptions_make_a_word_common(script: ModuleType) -> None:
    more = "Package: zeta\nSection: math\nDescription: a FAST one\n"
    parts = build(script, f"{INDEX}\n{more}")
    assert parts.words == ["fast", "text"]
    assert parts.described["zeta"] == ["fast"]
    assert parts.described["beta"] == ["fast", "text"]


def test_build__best_connected_of_each_section_are_kept(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "PER_SECTION", 1)
    # alpha has three neighbours and beta two; delta and gamma tie with two each.
    parts = build(script)
    assert parts.names == ["alpha", "delta", "epsilon"]
    assert parts.links == {("alpha", "delta", "Depends")}


def test_build__degree_counts_neighbours_not_relations(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "PER_SECTION", 1)
    index = """\
Package: one
Section: games
Depends: x
Recommends: x
Suggests: x

Package: two
Section: games
Depends: x, y

Package: x
Section: math

Package: y
Section: math
"""
    assert "two" in build(script, index).names
    assert "one" not in build(script, index).names


def test_build__fewer_than_the_limit_are_all_kept(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = build_arrays(script, INDEX)
    monkeypatch.setattr(script, "PER_SECTION", 2)
    assert_same_arrays(everything, build_arrays(script, INDEX))


def test_build_hetero__maintainers_by_name_without_address(script: ModuleType) -> None:
    assert pairs(script, "maintained_by", "maintainers", TEAM_INDEX) == {
        ("alpha", "Ann Author"),
        ("beta", "Ann Author"),
        ("beta", "Team, The"),
    }


def test_build_hetero__no_address_in_any_array(script: ModuleType) -> None:
    odd = (
        "Package: odd\nSection: math\n"
        "Maintainer: a@example.org, b@example.org <c@example.org>, Bo <b@example.org>\n"
    )
    arrays = build_hetero(script, f"{odd}\n{TEAM_INDEX}")
    assert all(b"@" not in array.tobytes() for array in arrays.values())
    found = pairs(script, "maintained_by", "maintainers", f"{odd}\n{TEAM_INDEX}")
    assert ("odd", "Bo") in found


def test_build_hetero__tags_over_several_lines(script: ModuleType) -> None:
    assert pairs(script, "tagged", "tags", TEAM_INDEX) == {
        ("alpha", "role::program"),
        ("alpha", "use::editing"),
        ("alpha", "interface::text"),
        ("beta", "role::program"),
    }


def test_build_hetero__index_without_maintainers_and_tags(script: ModuleType) -> None:
    arrays = build_hetero(script, INDEX)
    assert arrays["maintained_by"].shape == arrays["tagged"].shape == (2, 0)


@pytest.mark.parametrize("seed", range(3))
def test_build_hetero__order_of_stanzas_does_not_matter(
    script: ModuleType, seed: int
) -> None:
    stanzas = TEAM_INDEX.strip().split("\n\n")
    order = np.random.default_rng(seed).permutation(len(stanzas))
    shuffled = "\n\n".join(stanzas[i] for i in order) + "\n"
    assert_same_arrays(build_hetero(script, TEAM_INDEX), build_hetero(script, shuffled))


def test_script__same_index_same_bytes(tmp_path: Path) -> None:
    written = []
    for run in ("first", "second"):
        folder = tmp_path / run
        folder.mkdir()
        subprocess.run(
            [sys.executable, SCRIPT, folder],
            input=f"{INDEX}\n{TEAM_INDEX}",
            text=True,
            capture_output=True,
            check=True,
        )
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0].keys() == {"debian.npz", "debian_hetero.npz"}
    assert written[0] == written[1]
