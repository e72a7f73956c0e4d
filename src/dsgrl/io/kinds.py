"""The kind of a column, inferred by rules that a user can overrule.

=============  ====================================================================
number         numbers, also as text; whole numbers called `..._id` name something
boolean        true and false
date           dates, times and timestamps, also as text in one of a few forms
list           lists of numbers of one length
category       names that repeat
text           values of several words
ignore         nothing to learn from: empty, constant, or nearly every value differs
=============  ====================================================================
"""

import re
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from dsgrl.io.choices import KindName
from dsgrl.io.values import (
    DAY_FIRST,
    MONTH_FIRST,
    NUMBER,
    find_date_forms,
    is_date,
    is_number,
    is_text,
)

# Names repeat if there are at most so many for each row that has one.
REPEATED = 0.5
# Up to so many different values repeated text is a category, also if it has words.
FEW = 50
# From so many different values for each row on, values are ids.
DISTINCT = 0.95
# Words per value from which on it is text.
WORDS = 2.0
ID_NAME = re.compile(r"(?i:(^|[_\W])(id|key|uuid|guid)$)|[a-z](Id|ID|Key)$")
ROW_NUMBERS = re.compile(r"^(unnamed: \d+|index|)$", re.IGNORECASE)

EMPTY = "no values"
CONSTANT = "one value only"
IDENTIFIER = "nearly every value is different"
NOT_READ = "neither numbers, names, text nor dates"


class Inferred(NamedTuple):
    """The kind of a column.

    Attributes:
        kind: one of `KINDS`.
        reason: why it is left out, for kind "ignore".
        form: how a date is written in text.
        doubt: what else it could be.
    """

    kind: KindName
    reason: str = ""
    form: str | None = None
    doubt: str = ""


def infer_kind(name: str, column: pa.ChunkedArray) -> Inferred:
    """Infer the kind of a column.

    Args:
        name: of the column; whole numbers called `..._id` are no quantities.
        column: its values, after `values.clean`.
    """
    kind, known = column.type, len(column) - column.null_count
    if pa.types.is_null(kind) or not known:
        return Inferred("ignore", EMPTY)
    if pa.types.is_boolean(kind):
        return Inferred("boolean")
    if is_date(kind):
        return Inferred("date")
    if is_number(kind):
        return _infer_number(name, column, known)
    if pa.types.is_nested(kind):
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        is_list = is_list or pa.types.is_fixed_size_list(kind)
        return Inferred("list") if is_list else Inferred("ignore", NOT_READ)
    if is_text(kind):
        return _infer_text(name, column, known)
    return Inferred("ignore", NOT_READ)


def _infer_number(name: str, column: pa.ChunkedArray, known: int) -> Inferred:
    if not pa.types.is_integer(column.type):
        return Inferred("number")
    if not (ID_NAME.search(name) or ROW_NUMBERS.match(name)):
        return Inferred("number")
    distinct = pc.count_distinct(column).as_py()
    if distinct >= DISTINCT * known:
        return Inferred("ignore", IDENTIFIER)
    return Inferred("category")


def _infer_text(name: str, column: pa.ChunkedArray, known: int) -> Inferred:
    values = pc.unique(column.drop_null())
    lower = pc.unique(pc.utf8_lower(values)).to_pylist()
    if set(lower) <= {"true", "false"}:
        return Inferred("boolean")
    if pc.all(pc.match_substring_regex(values, NUMBER)).as_py():
        whole = pc.all(pc.match_substring_regex(values, r"^-?\d{1,18}$")).as_py()
        if whole:
            return _infer_number(name, column.cast(pa.int64()), known)
        return Inferred("number")
    forms = find_date_forms(pa.chunked_array([values]))
    if forms:
        is_doubtful = None not in forms and {MONTH_FIRST, DAY_FIRST} <= set(forms)
        doubt = "month/day/year" if is_doubtful else ""
        return Inferred("date", form=forms[0], doubt=doubt)
    if len(values) == 1 and not column.null_count:
        return Inferred("ignore", CONSTANT)
    has_words = pc.mean(pc.count_substring_regex(column, r"\S+")).as_py() >= WORDS
    if len(values) <= REPEATED * known and (len(values) <= FEW or not has_words):
        return Inferred("category")
    if has_words:
        return Inferred("text")
    if len(values) >= DISTINCT * known:
        return Inferred("ignore", IDENTIFIER)
    return Inferred("category")
