"""`--align-to` of `dsgrl embed`."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    # Loads torch.
    from dsgrl.datasets.rows import EmbeddedRows
    from dsgrl.explore.align import Drift


class Alignment(NamedTuple):
    """Earlier embeddings that new ones are rotated onto."""

    earlier: "EmbeddedRows"

    @classmethod
    def read(cls, path: Path | None) -> Self | None:
        """Read the earlier embeddings, if there are some."""
        from dsgrl.explore.files import read_rows

        return None if path is None else cls(read_rows(path))

    def check(self, width: int | None) -> None:
        """Refuse another width, where it is known."""
        from dsgrl.explore.align import check_width

        if width is not None:
            check_width(width, self.earlier)

    def align(self, rows: "EmbeddedRows") -> "EmbeddedRows":
        """Rotate new embeddings."""
        from dsgrl.explore.align import align

        return align(rows, self.earlier)

    def measure(self, rows: "EmbeddedRows") -> "Drift":
        """Compare aligned embeddings with the earlier ones."""
        from dsgrl.explore.align import measure_drift

        return measure_drift(rows, self.earlier)
