"""What a run did, read from the session that Pi wrote: tokens, money, calls, the summary and its author.

The file is the witness and not Pi's answers: it is there even when Pi crashed, and it tells what was new
from what the fixture had.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.jsonvalue import (
    Json,
    JsonObject,
    array_or_empty,
    is_finite_number,
    object_or_empty,
    text_or_empty,
)
from pi_fabric.certify.resume.arms import Author
from pi_fabric.compaction.details import recorded_version
from pi_fabric.history.session import read_session
from pi_fabric.history.trace import read_trace

TOKEN_KINDS: Final = ("input", "output", "cacheRead", "cacheWrite")
# What looks something up in past sessions, by the name that a model calls.
_RECALL_TOOLS: Final = {"memory_recall", "memory_expand", "vcc_recall"}
_RECALL_REFS: Final = {"memory.recall", "memory.expand"}
_FAILED: Final = {"error", "aborted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A compaction that a run made."""

    author: Author
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Everything new in a session."""

    tokens: Mapping[str, int]
    """By kind, see `TOKEN_KINDS`; a summary that a model wrote counts too."""
    usd: float
    is_cost_complete: bool
    """False when a model wrote a summary and Pi recorded no usage of it, as before 1.0."""
    tool_calls: int
    """By the model."""
    nested_calls: int
    """By programs that the model ran."""
    recall_calls: int
    """Among both: questions to past sessions."""
    summary: Summary | None
    failure: str
    """What the last answer of the model failed with; "" when it did not fail. Not scrubbed."""
    has_answer: bool
    """Whether the model answered at all after the prompt."""


NOTHING: Final = Observed(
    tokens=dict.fromkeys(TOKEN_KINDS, 0),
    usd=0.0,
    is_cost_complete=True,
    tool_calls=0,
    nested_calls=0,
    recall_calls=0,
    summary=None,
    failure="",
    has_answer=False,
)
"""Of a run that never came to a session."""


def known_ids(path: Path) -> frozenset[str]:
    """Ids of what a session holds before a run. Blocking."""
    return frozenset(entry["id"] for entry in read_session(path).entries if isinstance(entry.get("id"), str))


def observe(path: Path, known: frozenset[str]) -> Observed:
    """Read what is new in a session. Blocking.

    Raises:
        StoreError: If the file cannot be read.
        LimitReached: If it is too large.
    """
    new = [entry for entry in read_session(path).entries if text_or_empty(entry.get("id")) not in known]
    messages = [object_or_empty(entry.get("message")) for entry in new if entry.get("type") == "message"]
    answers = [message for message in messages if message.get("role") == "assistant"]
    usages = list(_usages(new))
    summary = _summary(new)
    direct = [name for answer in answers for name in _called(answer)]
    nested = [ref for message in messages for ref in _nested(message)]
    last = answers[-1] if answers else {}
    has_failed = text_or_empty(last.get("stopReason")) in _FAILED
    return Observed(
        tokens={kind: sum(_count(usage.get(kind)) for usage in usages) for kind in TOKEN_KINDS},
        usd=sum(_usd(usage) for usage in usages),
        is_cost_complete=_is_cost_complete(new),
        tool_calls=len(direct),
        nested_calls=len(nested),
        recall_calls=sum(map(_is_recall, direct)) + sum(map(_is_recall, nested)),
        summary=summary,
        failure=(text_or_empty(last.get("errorMessage")) or "no reason given") if has_failed else "",
        has_answer=bool(answers),
    )


def _usages(entries: Iterable[JsonObject]) -> Iterator[JsonObject]:
    # Messages of the model and of tools have their usage inside, summaries and Pi's own records beside.
    for entry in entries:
        for place in (entry, object_or_empty(entry.get("message"))):
            yield object_or_empty(place.get("usage"))


def _summary(entries: Sequence[JsonObject]) -> Summary | None:
    made = [entry for entry in entries if entry.get("type") == "compaction"]
    if not made:
        return None
    return Summary(author=_author(made[-1]), size_bytes=utf8_bytes(text_or_empty(made[-1].get("summary"))))


def _author(entry: JsonObject) -> Author:
    if entry.get("fromHook") is not True:
        return "model"
    return "fabric" if recorded_version(entry.get("details")) is not None else "extension"


def _is_cost_complete(entries: Iterable[JsonObject]) -> bool:
    made = [entry for entry in entries if entry.get("type") == "compaction" and _author(entry) == "model"]
    return all("usage" in entry for entry in made)


def _called(answer: JsonObject) -> Iterator[str]:
    for block in map(object_or_empty, array_or_empty(answer.get("content"))):
        if block.get("type") == "toolCall":
            yield text_or_empty(block.get("name"))


def _nested(message: JsonObject) -> Iterator[str]:
    trace = read_trace(object_or_empty(message.get("details")).get("trace"))
    if message.get("role") == "toolResult" and trace is not None:
        yield from (operation.ref for operation in trace.operations)


def _is_recall(name: str) -> bool:
    return name in _RECALL_REFS or name.rpartition(".")[2] in _RECALL_TOOLS


def _usd(usage: JsonObject) -> float:
    total = object_or_empty(usage.get("cost")).get("total")
    return max(0.0, float(total)) if is_finite_number(total) else 0.0


def _count(value: Json) -> int:
    return max(0, int(value)) if is_finite_number(value) else 0
