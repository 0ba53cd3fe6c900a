"""Python's garbage collector, out of the way while much is built at once."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Generator[None]:
    """Collect no cycles while the block is open.

    For building very many objects that hold no cycles: the collector would look through all of them again
    and again, which takes longer than the building. It runs again afterwards, unless it did not before;
    blocks in several threads may overlap, and the first to end ends the pause.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
