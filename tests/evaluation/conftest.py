from typing import Any

import numpy as np
import pytest


@pytest.fixture
def blobs() -> Any:
    """Give rows around three centres, and which centre each is around."""

    def make(spread: float = 1.0, columns: int = 6) -> tuple[Any, Any]:
        rng = np.random.default_rng(0)
        y = np.repeat(np.arange(3), 100)
        center = 3 * rng.normal(size=(3, columns))
        return (center[y] + spread * rng.normal(size=(300, columns))).astype("f4"), y

    return make
