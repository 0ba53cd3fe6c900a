"""Regular expressions over the index, through the port to the sandbox, within all bounds.

Hot sessions are tried entry by entry, cold ones word by word: of a cold session the index has no prose.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import anyio.to_thread

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.config.model import MemoryConfig
from pi_fabric.memory.catalogue import Row
from pi_fabric.memory.cold import ColdIndex, DigestHit
from pi_fabric.memory.query import Query
from pi_fabric.memory.ranking import SessionHits
from pi_fabric.memory.searchable import Searchable
from pi_fabric.protocol.regex import RegexPort

PATTERN_TOO_LARGE: Final = "regex_pattern_too_large"
MAX_ITEMS: Final = "regex_max_haystack_terms"
MAX_BYTES: Final = "regex_max_haystack_bytes"
WORKER_ERROR: Final = "regex_worker_error"
INVALID: Final = "invalid_regex"
NEEDS_HYDRATION: Final = "cold_regex_requires_hydration"
# What can be told from single words: plain letters and digits, classes of them, choices, repetitions, both
# ends. Other letters are spelled in another way in the index.
_WITHIN_WORDS: Final = re.compile(
    r"(?:[\w|^$*+?{},()]|\(\?:|\\[wd]|\[(?:[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d|\w)+\])+\Z", re.ASCII
)
# Entries are read from a record in runs of this many, until the bounds are reached.
_RUN: Final = 256


@dataclass(slots=True)
class PatternResult:
    """What a pattern found, and what stands against its being all."""

    hits: list[SessionHits] = field(default_factory=list[SessionHits])
    digests: list[DigestHit] = field(default_factory=list[DigestHit])
    reasons: set[str] = field(default_factory=set[str])
    error: JsonObject | None = None


@dataclass(slots=True)
class _Haystack:
    """Texts to try, and where each came from."""

    max_items: int
    max_bytes: int
    texts: list[str] = field(default_factory=list[str])
    owners: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """For each text its session's number and, for an entry, its place."""
    reasons: set[str] = field(default_factory=set[str])

    def takes(self, text: str, owner: tuple[int, int]) -> bool:
        """Add a text; False when it no longer fits."""
        if len(self.texts) >= self.max_items:
            self.reasons.add(MAX_ITEMS)
            return False
        size = utf8_bytes(text)
        if size > self.max_bytes:
            self.reasons.add(MAX_BYTES)
            return False
        self.max_bytes -= size
        self.texts.append(text)
        self.owners.append(owner)
        return True


async def search_pattern(
    *,
    query: Query,
    sessions: Sequence[Searchable],
    rows: Sequence[Row],
    cold: ColdIndex,
    port: RegexPort | None,
    config: MemoryConfig,
) -> PatternResult:
    """Try a pattern on hot entries, then on the words of cold sessions.

    Args:
        query: With a pattern for its text.
        sessions: Hot ones, in order.
        rows: Cold ones that passed the filters, in order.
        cold: Where their words are.
        port: What runs the pattern; None where nothing can.
        config: The bounds.
    """
    result = PatternResult()
    pattern = query.text or ""
    if utf8_bytes(pattern) > config.regex_max_pattern_bytes:
        limit = config.regex_max_pattern_bytes
        return _failed(
            result, PATTERN_TOO_LARGE, f"the pattern has more than {limit} bytes; memory.regexMaxPatternBytes"
        )
    if port is None:
        return _failed(result, WORKER_ERROR, "this host has no sandbox to run a pattern in")
    haystack = _Haystack(config.regex_max_haystack_terms, config.regex_max_haystack_bytes)
    await anyio.to_thread.run_sync(partial(_gather, haystack, query, sessions, rows, cold))
    matches = await port.search(pattern, haystack.texts, timeout_ms=config.regex_timeout_ms)
    if matches.problem != INVALID:
        result.reasons |= haystack.reasons
        if rows and not is_within_words(pattern):
            result.reasons.add(NEEDS_HYDRATION)
    if matches.problem is not None:
        return _failed(result, matches.problem, matches.message)
    _sort_out(result, haystack, matches.indices, sessions, rows)
    return result


def is_within_words(pattern: str) -> bool:
    """True when a match, if there is one, lies within one word: only then single words can tell."""
    return _WITHIN_WORDS.match(pattern) is not None


def _gather(
    haystack: _Haystack, query: Query, sessions: Sequence[Searchable], rows: Sequence[Row], cold: ColdIndex
) -> None:
    for number, session in enumerate(sessions):
        if not _gather_entries(haystack, number, session, query):
            return
    for number, row in enumerate(rows, start=len(sessions)):
        if not all(haystack.takes(word, (number, -1)) for word in cold.vocabulary(row)):
            return


def _gather_entries(haystack: _Haystack, number: int, session: Searchable, query: Query) -> bool:
    passing = session.passing(query.filters)
    for at in range(0, len(passing), _RUN):
        run = passing[at : at + _RUN]
        entries = session.entries(run[0], run[-1])
        if not all(haystack.takes(entries[place - run[0]].text, (number, place)) for place in run):
            return False
    return True


def _sort_out(
    result: PatternResult,
    haystack: _Haystack,
    indices: Sequence[int],
    sessions: Sequence[Searchable],
    rows: Sequence[Row],
) -> None:
    found: dict[int, list[int]] = {}
    for index in indices:
        number, place = haystack.owners[index]
        found.setdefault(number, []).append(place)
    for number, places in sorted(found.items()):
        if number < len(sessions):
            result.hits.append(SessionHits(sessions[number], dict.fromkeys(places, 1.0)))
        else:
            row = rows[number - len(sessions)]
            result.digests.append(DigestHit(row=row, score=len(places), matched_terms=len(places)))


def _failed(result: PatternResult, code: str, message: str) -> PatternResult:
    result.reasons.add(code)
    result.error = {"code": code, "message": message}
    return result
