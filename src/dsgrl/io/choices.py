"""What a user chooses when a graph is read, and notes on what was not asked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from dsgrl.typing import InputError

UnknownName = Literal["error", "add", "drop"]
KindName = Literal["number", "boolean", "category", "text", "date", "list", "ignore"]
# What a column can be for the graph itself; the others are features.
ROLES = ("source", "target", "weight", "type", "id", "label", "graph")
KINDS: tuple[str, ...] = get_args(KindName)


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """What a user chose.

    Attributes:
        columns: name of the column by its role, one of `ROLES`.
        features: the columns of nodes to use; all others if left out.
        ignore: columns of nodes that are not features.
        kinds: kind of a column of nodes, one of `KINDS`, by its name.
        unknown: what to do with an edge to a node that the table of nodes lacks.
        remembered: roles of columns in training, used where a table has such columns
            and nothing was chosen.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    unknown: UnknownName = "error"
    remembered: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for given, allowed, what in (
            (self.columns, ROLES, "columns: unknown role"),
            (self.kinds.values(), KINDS, "kinds: unknown kind"),
            ([self.unknown], get_args(UnknownName), "unknown: unknown choice"),
        ):
            for value in given:
                if value not in allowed:
                    raise InputError(
                        f"{what} '{value}', expected one of {', '.join(allowed)}"
                    )

    def check_edges(self, tables: Mapping[str, Iterable[str]]) -> None:
        """Fail if no table of edges has a column that was chosen.

        Args:
            tables: columns of every table of edges, by name.
        """
        for role in ("source", "target", "weight"):
            if role in self.columns:
                _check_one(f"--{role}", self.columns[role], tables)

    def check_nodes(self, tables: Mapping[str, Iterable[str]]) -> None:
        """Fail if no table of nodes has a column that was chosen."""
        for role in ("id", "label", "graph"):
            if role in self.columns:
                _check_one(f"--{role}", self.columns[role], tables)
        for option, names in (
            ("--features", self.features or ()),
            ("--ignore", self.ignore),
            ("--kind", self.kinds),
        ):
            for name in names:
                _check_one(option, name, tables)

    def check_types(self, tables: Mapping[str, Iterable[str]]) -> None:
        """Fail if no table at all has the chosen column of types."""
        if "type" in self.columns:
            _check_one("--type", self.columns["type"], tables)


def _check_one(option: str, name: str, tables: Mapping[str, Iterable[str]]) -> None:
    if any(name in columns for columns in tables.values()):
        return
    if not tables:
        raise InputError(f"{option} {name}: there is no table of nodes")
    first, columns = next(iter(tables.items()))
    raise InputError(f"{option} {name}: no such column; {first} has {shorten(columns)}")


def shorten(names: Iterable[str], most: int = 8) -> str:
    """List names, at most so many of them."""
    listed = list(names)
    more = f", ... ({len(listed)} in all)" if len(listed) > most else ""
    return ", ".join(name if name else "''" for name in listed[:most]) + more


def count_of(number: int, what: str) -> str:
    """Return a number and what it counts: 1 node, 2 nodes."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


@dataclass(slots=True)
class Notes:
    """What was done without asking while reading.

    Attributes:
        assumed: choices that were made for the user.
        changed: what was left out, filled or added.
    """

    assumed: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def assume(self, text: str) -> None:
        """Note an assumption."""
        self.assumed.append(text)

    def change(self, text: str) -> None:
        """Note a change of the data."""
        self.changed.append(text)
