"""DuckDB as a sorter: tables on disk, a limit of memory, rows in and out in batches."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from dsgrl.io.tables import first_line
from dsgrl.typing import InputError

ROWS_AT_ONCE = 1 << 20
FULL = ("No space left", "File too large", "Disk quota", "max_temp_directory_size")


def import_duckdb() -> Any:
    """Import DuckDB.

    Raises:
        InputError: if it is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise InputError(
            "a stored graph is sorted by DuckDB, which is not installed: "
            "pip install 'dsgrl[scale]'"
        ) from error
    return duckdb


class Database:
    """A database in a folder of its own.

    Args:
        folder: for the database and for what does not fit into memory.
        memory: bytes that DuckDB may use.
    """

    def __init__(self, folder: Path, memory: int) -> None:
        self._duckdb = import_duckdb()
        self._memory = memory
        with self._explained():
            self._connection = self._duckdb.connect(
                str(folder / "graph.duckdb"),
                config={
                    "memory_limit": f"{memory // 10**6}MB",
                    "temp_directory": str(folder / "spilled"),
                    # DuckDB counts all cores, also those this process may not use.
                    "threads": max(1, count_cores()),
                },
            )

    def close(self) -> None:
        """Close the files, which nobody needs after that."""
        with suppress(self._duckdb.Error):
            self._connection.execute("PRAGMA disable_checkpoint_on_shutdown")
            self._connection.close()

    def run(self, query: str) -> None:
        """Run a statement."""
        with self._explained():
            self._connection.execute(query)

    def one(self, query: str) -> Any:
        """Return the first row of a result, None if there is none."""
        with self._explained():
            # A result that is not read to its end blocks the connection.
            return next(iter(self._connection.execute(query).fetchall()), None)

    def insert(self, table: str, rows: pa.Table) -> None:
        """Append rows to a table; row numbers (`rowid`) go on."""
        with self._explained():
            self._connection.register("given", rows)
            try:
                self._connection.execute(f"INSERT INTO {table} SELECT * FROM given")
            finally:
                self._connection.unregister("given")

    def stream(self, query: str) -> Iterator[pa.RecordBatch]:
        """Return a result batch by batch."""
        with self._explained():
            yield from self._connection.sql(query).to_arrow_reader(ROWS_AT_ONCE)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of limits into one line."""
        try:
            yield
        # Errors of a result that is read as Arrow are those of Arrow.
        except (self._duckdb.Error, pa.ArrowException) as error:
            if any(word in str(error) for word in FULL):
                raise OSError("No space left on device") from error
            if isinstance(error, self._duckdb.IOException):
                raise OSError(first_line(error)) from error
            if isinstance(error, self._duckdb.OutOfMemoryException):
                raise InputError(
                    f"{self._memory // 10**6:,} MB of memory are too few to sort this "
                    f"graph: give more with --memory"
                ) from error
            raise


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
