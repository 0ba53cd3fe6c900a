"""The nearest valid name to a wrong one."""

import difflib
from collections.abc import Iterable

# Below this similarity a suggestion misleads more often than it helps.
MIN_SIMILARITY = 0.6
# What is longer is no misspelt name, and comparing takes quadratic time.
MAX_WORD_CHARS = 200


def nearest(word: str, valid: Iterable[str], *, count: int = 1) -> list[str]:
    """Up to `count` of `valid` that look like `word`, case ignored, best first."""
    if len(word) > MAX_WORD_CHARS:
        return []
    by_folded = {name.casefold(): name for name in valid}
    close = difflib.get_close_matches(word.casefold(), by_folded, n=count, cutoff=MIN_SIMILARITY)
    return [by_folded[name] for name in close]
