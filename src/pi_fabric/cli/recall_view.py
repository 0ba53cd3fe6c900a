"""What `recall` shows a person: a block for each place, how to open it, and whether that is all."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.base.paths import shorten_home
from pi_fabric.base.printable import printable
from pi_fabric.base.shellwords import command_line
from pi_fabric.cli.memory_run import one_paragraph
from pi_fabric.cli.styled_lines import StyledLine
from pi_fabric.memory.items import Page
from pi_fabric.memory.model import Coverage, SourceKind
from pi_fabric.memory.query import Query
from pi_fabric.memory.snippets import hit_pattern
from pi_fabric.memory.source import opened, read_head
from pi_fabric.memory.wording import count, coverage_line, headline

# A browse shows how a turn begins; all of it is opened by its address.
_BROWSED_ENTRIES: Final = 1


def answer_lines(
    query: Query, answer: JsonObject, again: Callable[[str], str], opener: str, environ: Mapping[str, str]
) -> Iterator[StyledLine]:
    """An answer without `error`, brief or full. Reads the heads of the session files it names.

    Args:
        query: What was asked.
        answer: What came of it.
        again: The command that asks the same of one session file.
        opener: What `expand` knows the first session by that is shown with entries.
        environ: Tells the home folder.
    """
    coverage = _coverage(answer["coverage"])
    yield from _paragraph(headline(query, _page(answer), coverage))
    projects: dict[str, str] = {}
    for item in answer["items"]:
        yield StyledLine(text="")
        if item["kind"] == "entry":
            segment = _resolved(item["segment"], answer["segments"])
            file = str(segment["sessionFile"])
            if file not in projects:
                projects[file] = project_of(file, segment.get("source", "pi"))
            yield _title(segment, projects[file], environ)
            yield from _entries(segment, query)
        else:
            yield from _pointer(_resolved(item["digest"], answer["digestHits"]), query, again, environ)
    if answer["items"]:
        yield StyledLine(text="")
    yield from _tail(query, answer, coverage, opener)


def project_of(file: str, kind: SourceKind = "pi") -> str:
    """The folder that the head of a session file names; empty when it names none. Blocking."""
    try:
        with opened(file) as stream:
            return read_head(stream, kind).cwd
    except OSError:
        return ""


def local_day(moment_ms: Json) -> str:
    """A time as a local date; a dash for none."""
    try:
        return datetime.fromtimestamp(moment_ms / 1000).strftime("%Y-%m-%d")
    except (TypeError, ValueError, OverflowError, OSError):
        return "-"


def address(index: Json, role: Json, tool: Json, entry_id: Json) -> str:
    """Where an entry is: its number, role and tool, and its id."""
    about = f"{role or ''}({tool})" if tool else f"{role or ''}"
    return printable(" ".join(part for part in (f"#{index}", about, str(entry_id or "")) if part))


def _resolved(item: Json, among: Json) -> JsonObject:
    """A full answer repeats what an item is, a brief one says which of the list."""
    return among[item] if isinstance(item, int) else item


def _title(session: JsonObject, project: str, environ: Mapping[str, str]) -> StyledLine:
    parts = [local_day(_said_at(session))]
    if project:
        parts.append(shorten_home(Path(project), environ))
    return StyledLine(text=printable("  ".join([*parts, str(session["sessionId"])])), style="bold")


def _said_at(session: JsonObject) -> Json:
    """When something was said: the first match, the last entry of an older session, else the file's time."""
    matches = session.get("matches") or [one["entry"] for one in session.get("entries", ()) if one["matched"]]
    told = (one["timestamp"] for one in matches)
    known = (moment for moment in (*told, session.get("lastTs")) if moment is not None)
    return next(known, session["sessionMtime"])


def _entries(segment: JsonObject, query: Query) -> Iterator[StyledLine]:
    if "matches" not in segment:
        for one in segment["entries"]:
            entry = one["entry"]
            where = address(entry["index"], entry["role"], entry["toolName"], entry["entryId"])
            yield StyledLine(text=f"{one['marker']} {where}", style="cyan")
            for line in str(entry["text"]).split("\n"):
                yield _with_marks(printable(line), "", query, indent=4)
        return
    shown = segment["matches"][:_BROWSED_ENTRIES] if query.is_browse else segment["matches"]
    for match in shown:
        where = address(match["index"], match["role"], match["toolName"], match["entryId"])
        yield _with_marks(printable(str(match["snippet"])), f"{where}: ", query, indent=2)
    more = segment["matchedCount"] - len(shown)
    if more > 0:
        noun = ("entry", "entries") if query.is_browse else ("match", "matches")
        yield StyledLine(text=f"and {count(more, f'more {noun[0]}', f'more {noun[1]}')} here", indent=2)


def _with_marks(text: str, before: str, query: Query, *, indent: int) -> StyledLine:
    pattern = hit_pattern(query)
    at = len(before)
    found = () if pattern is None else pattern.finditer(text)
    marks = tuple((at + hit.start(), at + hit.end()) for hit in found)
    return StyledLine(text=before + text, indent=indent, marks=marks)


def _pointer(
    digest: JsonObject, query: Query, again: Callable[[str], str], environ: Mapping[str, str]
) -> Iterator[StyledLine]:
    yield _title(digest, str(digest["cwd"] or ""), environ)
    words = ", ".join(digest.get("matchedWords") or ())
    about = "an older session" if query.is_browse else "an older session that matches"
    about += f" ({printable(words)})" if words else ""
    yield StyledLine(text=f"{about}; to look inside:", indent=2)
    yield StyledLine(text=again(str(digest["sessionFile"])), indent=2, style="cyan", is_whole=True)


def _tail(query: Query, answer: JsonObject, coverage: Coverage, opener: str) -> Iterator[StyledLine]:
    if answer["segments"]:
        yield StyledLine(text=f"To open one: {_opening(answer['segments'][0], opener)}", is_whole=True)
    if answer["hasNext"]:
        yield StyledLine(text=f"There is more: --page {answer['page'] + 1}")
    if not answer["totalItems"]:
        yield from _advice(query, coverage)
    yield from _paragraph(coverage_line(coverage))


def _opening(segment: JsonObject, opener: str) -> str:
    """The command that opens the first entry shown."""
    exact = segment.get("matches") or segment["exactMatches"] or [{"index": segment["entryRange"]["first"]}]
    parts = [opener, "--index", str(exact[0]["index"])]
    if segment["branches"] != "active":
        parts += ["--branches", str(segment["branches"])]
    return command_line(["pi-fabric", "expand", *parts])


def _advice(query: Query, coverage: Coverage) -> Iterator[StyledLine]:
    if not coverage.eligible_sessions:
        if query.names_session:
            yield StyledLine(text="No session has this path, id or file name.")
        elif query.scope != "global":
            yield StyledLine(text="No session belongs to this folder; --scope global asks all of them.")
    elif not query.is_browse and not query.fold and query.mode == "literal":
        if not (query.text or "").isascii():
            yield StyledLine(text="Runs of CJK are one word each; --fold looks inside them.")
        elif query.match == "any":
            yield StyledLine(text="Only whole words were looked for; --fold also finds parts of names.")


def _paragraph(text: str) -> Iterator[StyledLine]:
    return (StyledLine(text=line) for line in one_paragraph(text).split("\n"))


def _page(answer: JsonObject) -> Page:
    return Page(
        items=(),
        total_items=answer["totalItems"],
        total_matches=answer["totalMatches"],
        segment_count=answer["segmentCount"],
        is_cut=False,
        number=answer["page"],
        size=answer["pageSize"],
    )


def _coverage(told: JsonObject) -> Coverage:
    return Coverage(
        indexed_sessions=told["indexedSessions"],
        eligible_sessions=told["eligibleSessions"],
        stale_sessions=told["staleSessions"],
        incomplete_sessions=told["incompleteSessions"],
        reasons=frozenset(told["reasons"]),
        skipped_lines=told.get("skippedLines", 0),
    )
