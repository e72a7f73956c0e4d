from typing import Any

import pyarrow as pa
import pytest

from dsgrl.io.kinds import CONSTANT, EMPTY, IDENTIFIER, NOT_READ, infer_kind
from dsgrl.io.values import clean

MANY = range(40)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("age", [1, 2, 3], "number"),
        ("age", [1.5, None], "number"),
        ("age", ["1", "2.5e3", "-7", "NA"], "number"),
        ("age", ["1", "-", "-7", "?"], "number"),
        ("ok", [True, False], "boolean"),
        ("ok", ["True", "false", ""], "boolean"),
        ("when", ["2020-01-01", "1999-12-31"], "date"),
        ("when", ["2020-01-01", "31.12.1999", "1.5.2001"], "date"),
        ("version", ["1.2.3", "1.2.4", "1.2.3", "1.2.4"], "category"),
        ("team", ["a", "b", "a", "b"], "category"),
        ("team", ["human resources", "sales and more"] * 10, "category"),
        ("city", [f"city{i % 30}" for i in range(100)], "category"),
        ("title", [f"title {i % 70} of a job" for i in range(150)], "text"),
        ("name", [f"first{i} last{i}" for i in MANY], "text"),
        ("bio", [f"likes {i} and {i + 1}" for i in MANY], "text"),
        ("vector", [[1.0, 2.0], [3.0, 4.0]], "list"),
        ("dept_id", [1, 2] * 10, "category"),
        ("groupId", [1, 2] * 10, "category"),
        ("valid", [1, 2] * 10, "number"),
        ("humid", list(MANY), "number"),
    ],
)
def test_infer_kind(name: str, values: list[Any], kind: str) -> None:
    assert infer_kind(name, clean(pa.chunked_array([values]))).kind == kind


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("a", [None, None], EMPTY),
        ("a", ["", "NA"], EMPTY),
        ("a", ["same"] * 5, CONSTANT),
        ("mail", [f"u{i}@example.org" for i in MANY], IDENTIFIER),
        ("key", [f"{i:032x}" for i in range(10**30, 10**30 + 40)], IDENTIFIER),
        ("emp_id", list(MANY), IDENTIFIER),
        ("ID", list(MANY), IDENTIFIER),
        ("Unnamed: 0", list(MANY), IDENTIFIER),
        ("", list(MANY), IDENTIFIER),
        ("a", [{"b": 1}], NOT_READ),
        ("a", [b"\x00", b"\xff"], NOT_READ),
    ],
)
def test_infer_kind__left_out_and_why(
    name: str, values: list[Any], reason: str
) -> None:
    found = infer_kind(name, clean(pa.chunked_array([values])))
    assert (found.kind, found.reason) == ("ignore", reason)
