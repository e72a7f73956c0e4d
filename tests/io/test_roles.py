from typing import Any

import pytest

from dsgrl.io.choices import Choices, Notes
from dsgrl.io.roles import find_edge_roles, find_node_roles
from dsgrl.typing import InputError


@pytest.mark.parametrize(
    ("columns", "ends", "is_noted"),
    [
        ("source,target", ("source", "target"), False),
        ("target,source", ("source", "target"), False),
        ("Source,TARGET,x", ("Source", "TARGET"), True),
        ("from,to,x,y", ("from", "to"), True),
        ("src,dst,x", ("src", "dst"), True),
        ("u,v,x", ("u", "v"), True),
        (" From , To ,x", (" From ", " To "), True),
        ("u,v,from,to,source,target", ("source", "target"), False),
        ("payer,payee", ("payer", "payee"), True),
        ("payer,payee,Weight,type", ("payer", "payee"), True),
    ],
)
def test_edges__common_names(
    columns: str, ends: tuple[str, str], is_noted: bool
) -> None:
    notes = Notes()
    roles = find_edge_roles("e.csv", columns.split(","), Choices(), notes)
    assert (roles.source, roles.target) == ends
    assert bool(notes.assumed) == is_noted
    for name in ends if is_noted else ():
        assert f"'{name}'" in notes.assumed[0]


@pytest.mark.parametrize(
    ("chosen", "ends"),
    [
        ({"source": "a", "target": "b"}, ("a", "b")),
        ({"source": "b", "target": "from"}, ("b", "from")),
        ({"source": "a"}, ("a", "to")),
        ({"target": "a"}, ("from", "a")),
    ],
)
def test_edges__what_is_chosen_comes_first(
    chosen: dict[str, str], ends: tuple[str, str]
) -> None:
    columns = ["from", "a", "b", "to"]
    roles = find_edge_roles("e.csv", columns, Choices(columns=chosen), Notes())
    assert (roles.source, roles.target) == ends


def test_edges__weight_and_type() -> None:
    columns = ["source", "target", "Weight", "type", "w"]
    roles = find_edge_roles("e.csv", columns, Choices(), Notes())
    assert (roles.weight, roles.type) == ("Weight", "type")
    other = Choices(columns={"weight": "w", "type": "Weight"})
    roles = find_edge_roles("e.csv", columns, other, Notes())
    assert (roles.weight, roles.type) == ("w", "Weight")


@pytest.mark.parametrize("columns", ["a,b,c", "source,b,c", "a", ""])
def test_edges__that_cannot_be_told(columns: str) -> None:
    with pytest.raises(InputError, match=r"e\.csv.*--source and --target"):
        find_edge_roles("e.csv", columns.split(","), Choices(), Notes())


@pytest.mark.parametrize(
    ("columns", "expected", "is_noted"),
    [
        ("id,name", "id", False),
        ("name,ID", "ID", True),
        ("name,node", "node", True),
        ("node_id,name", "node_id", True),
        ("age,Name", "Name", True),
        ("person,age", "person", True),
        ("age,__index_level_0__", "__index_level_0__", True),
    ],
)
def test_nodes__ids(columns: str, expected: str, is_noted: bool) -> None:
    notes = Notes()
    roles = find_node_roles("n.csv", columns.split(","), Choices(), notes)
    assert roles.id == expected
    assert bool(notes.assumed) == is_noted


def test_nodes__other_roles_and_the_rest() -> None:
    columns = ["age", "Label", "id", "TYPE", "graph", "__index_level_0__", "x"]
    roles = find_node_roles("n.csv", columns, Choices(), Notes())
    assert (roles.label, roles.type, roles.graph) == ("Label", "TYPE", "graph")
    assert roles.others == ["age", "x"]
    chosen = Choices(columns={"label": "age", "id": "x"})
    roles = find_node_roles("n.csv", columns, chosen, Notes())
    assert (roles.id, roles.label) == ("x", "age")
    assert roles.others == ["Label", "id"]


def test_remembered_roles__are_used_where_nothing_is_chosen() -> None:
    known = {"source": "payer", "target": "payee", "id": "account", "label": "grade"}
    columns = ["payer", "payee", "source", "target"]
    roles = find_edge_roles("e", columns, Choices(remembered=known), Notes())
    assert (roles.source, roles.target) == ("payer", "payee")
    nodes = find_node_roles("n", ["id", "account"], Choices(remembered=known), Notes())
    assert (nodes.id, nodes.label) == ("account", None)


@pytest.mark.parametrize(
    ("chosen", "part"),
    [
        ({"columns": {"sauce": "a"}}, "unknown role 'sauce'"),
        ({"kinds": {"a": "colour"}}, "unknown kind 'colour'"),
        ({"unknown": "keep"}, "unknown choice 'keep'"),
    ],
)
def test_choices__of_unknown_words(chosen: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError, match=part):
        Choices(**chosen)
