"""`memory.*`: a program searches recorded sessions and opens what it finds, word for word.

Every question asks the host where its session is right now, for a move in the tree appends nothing to the
file. A host that does not answer fails the question: an answer that follows the file alone would show a
branch that the person has left, and not say so.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
import anyio.to_thread
import msgspec

from pi_fabric.actions.descriptor import define
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.protocol.actions import Action, CallContext, CallShape
from pi_fabric.protocol.host import SessionPort
from pi_fabric.providers.surroundings import Surroundings

if TYPE_CHECKING:
    from pi_fabric.memory import Current, Memory

Scope = Annotated[
    str,
    msgspec.Meta(description="session (the default), project, global, or session:PATH-OR-ID for one session"),
]
Branches = Annotated[
    Literal["active", "all"],
    msgspec.Meta(description="active (the default): only the branch that counts; all: abandoned ones too"),
]
Hash = Annotated[str, msgspec.Meta(description="sourceHash of a pointer; a changed session is then told")]
Lineage = Annotated[
    str, msgspec.Meta(description="lineageFingerprint of a pointer; a changed branch is then told")
]
# What is no text is passed over, so that addresses may come straight from matches, which have null for none.
Addresses = Annotated[list[Any], msgspec.Meta(extra_json_schema={"items": {"type": "string"}})]


class EntryRange(msgspec.Struct, forbid_unknown_fields=True):
    """Entries of one session, both ends included."""

    first: float
    last: float


Range = Annotated[
    EntryRange, msgspec.Meta(description="{first, last}: only these entries of one session, both included")
]


class RecallArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Arguments of `memory.recall`."""

    query: (
        Annotated[str, msgspec.Meta(description="Words to look for; without them everything is listed")]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    queryMode: (
        Annotated[
            Literal["literal", "regex"],
            msgspec.Meta(description="regex: query is a JavaScript pattern with the flags iu"),
        ]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    match: (
        Annotated[
            Literal["any", "all", "phrase", "prefix"],
            msgspec.Meta(
                description="any word (the default), all words, all in a row, or beginnings of words"
            ),
        ]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    fold: (
        Annotated[
            bool,
            msgspec.Meta(description="Also find parts of names (auth in useAuthToken) and words in CJK text"),
        ]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    scope: Scope | msgspec.UnsetType = msgspec.UNSET
    branches: Branches | msgspec.UnsetType = msgspec.UNSET
    detail: (
        Annotated[
            Literal["brief", "full"],
            msgspec.Meta(
                description="brief (the default): snippets; full: whole entries, but a large page is cut"
            ),
        ]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    role: (
        Annotated[
            str, msgspec.Meta(description="Only entries of this role: user, assistant, toolResult, ...")
        ]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    tool: (
        Annotated[str, msgspec.Meta(description="Only entries of this tool, such as bash or pi.read")]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    since: (
        Annotated[float, msgspec.Meta(description="Not before, in ms as Date.now() counts")]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    until: Annotated[float, msgspec.Meta(description="Not after, in ms")] | msgspec.UnsetType = msgspec.UNSET
    page: Annotated[float, msgspec.Meta(description="From 1")] | msgspec.UnsetType = msgspec.UNSET
    pageSize: (
        Annotated[float, msgspec.Meta(description="Items of a page: 25, or up to 200")] | msgspec.UnsetType
    ) = msgspec.UNSET
    entryRange: Range | msgspec.UnsetType = msgspec.UNSET
    expectedSourceHash: Hash | msgspec.UnsetType = msgspec.UNSET
    expectedLineageFingerprint: Lineage | msgspec.UnsetType = msgspec.UNSET


class ExpandArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Arguments of `memory.expand`."""

    session: Annotated[
        str, msgspec.Meta(description="sessionFile of a match; a session's id or file name does too")
    ]
    indices: Annotated[list[float], msgspec.Meta(description="index of matches")] | msgspec.UnsetType = (
        msgspec.UNSET
    )
    entryIds: (
        Annotated[Addresses, msgspec.Meta(description="entryId of matches, or addresses from a summary")]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    operationAddresses: (
        Annotated[Addresses, msgspec.Meta(description="operationAddress of matches, as ENTRY/NUMBER")]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    entryRange: Range | msgspec.UnsetType = msgspec.UNSET
    branches: Branches | msgspec.UnsetType = msgspec.UNSET
    expectedSourceHash: Hash | msgspec.UnsetType = msgspec.UNSET
    expectedLineageFingerprint: Lineage | msgspec.UnsetType = msgspec.UNSET


class SessionsArguments(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Arguments of `memory.sessions`."""

    scope: Scope | msgspec.UnsetType = msgspec.UNSET
    branches: Branches | msgspec.UnsetType = msgspec.UNSET
    limit: (
        Annotated[int, msgspec.Meta(ge=1, description="Most sessions to list: 500 at most")]
        | msgspec.UnsetType
    ) = msgspec.UNSET


PROBLEM = "error?: { code: string; message: string; [detail: string]: any }"
BOUND = "sourceHash: string; branches: string; lineageFingerprint: string"
COVERAGE = (
    "{ complete: boolean; indexedSessions: number; eligibleSessions: number; staleSessions: number;"
    f" incompleteSessions: number; reasons: string[]; {PROBLEM} }}"
)
MATCH = (
    "{ index: number; entryId: string | null; operationAddress: string | null; role: string | null;"
    " toolName: string | null; timestamp: number | null; snippet: string }"
)
SEGMENT = (
    f"{{ sessionId: string; sessionFile: string; {BOUND}; sessionMtime: number;"
    f" entryRange: {{ first: number; last: number }}; matches?: {MATCH}[]; matchedCount: number;"
    " omittedMatches?: number; matchedWords?: string[]; score: number; tier: string;"
    " entries?: { entry: any; matched: boolean; marker: string }[];"
    " exactMatches?: { index: number; entryId: string | null; operationAddress: string | null }[] }"
)
POINTER = (
    f"{{ sessionId: string; sessionFile: string; {BOUND}; cwd: string; lastTs: number | null;"
    " sessionMtime: number; score: number; tier: string; matchedTerms: number; matchedWords?: string[] }"
)
RECALLED = (
    f"{{ text: string; segments: {SEGMENT}[]; digestHits: {POINTER}[];"
    ' items: { kind: "entry" | "digest"; segment?: any; digest?: any }[]; scope: string; branches: string;'
    " query: string | null; queryMode: string; matchedCount: number; totalMatches: number;"
    " totalItems: number; segmentCount: number; page: number; pageSize: number; hasNext: boolean;"
    f" coverage: {COVERAGE}; {PROBLEM} }}"
)
ENTRY = (
    "{ index: number; entryId: string | null; text: string; toolName?: string; operationAddress?: string;"
    " ref?: string; outcome?: string; filesTouched?: string[]; parentEntryId?: string; operation?: any;"
    " [key: string]: any }"
)
EXPANDED = f"{{ session: string; {BOUND}; expanded: {ENTRY}[]; {PROBLEM} }}"
LISTED = (
    "{ scope: string; branches: string; sessions: { id: string; file: string; cwd: string; mtime: number;"
    " entryCount: number; tier: string; branches: string; lineageFingerprint: string | null }[];"
    f" {PROBLEM} }}"
)

ACTIONS: tuple[Action, ...] = (
    define(
        "recall",
        RecallArguments,
        "read",
        "Search sessions, this one by default; gives snippets with addresses for memory.expand, and `text`.",
        returns=RECALLED,
        shape=CallShape(shorthand="query"),
    ),
    define(
        "expand",
        ExpandArguments,
        "read",
        "Open entries of one session by index, id or address: their whole text, as it was said.",
        returns=EXPANDED,
    ),
    define(
        "sessions",
        SessionsArguments,
        "read",
        "List sessions, newest first.",
        returns=LISTED,
        shape=CallShape(shorthand="scope"),
    ),
)


class MemoryProvider:
    """Offers the memory of one user; what it needs is loaded at the first question."""

    name = "memory"
    description = "Recorded sessions: recall finds, expand opens word for word, sessions lists."

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._memory: Memory | None = None
        self._lock = anyio.Lock()

    async def actions(self) -> Sequence[Action]:
        """The three actions."""
        return ACTIONS

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        """Answer one question about the sessions as they are now.

        Raises:
            RequestError: If the arguments do not go together.
            Unavailable: If the host has a session and does not tell where it is.
        """
        memory = await self._opened()
        current = await _current(self._around.ports.session)
        if name == "expand":
            return await memory.expand(args, cwd=context.cwd, current=current)

        def tell(done: int, total: int) -> None:
            context.update({"text": f"{done} of {total} sessions indexed"})

        ask = memory.recall if name == "recall" else memory.sessions
        return await ask(args, cwd=context.cwd, current=current, progress=tell)

    async def _opened(self) -> "Memory":
        async with self._lock:
            if self._memory is None:
                self._memory = await anyio.to_thread.run_sync(_open, self._around)
            return self._memory


def offer(around: Surroundings) -> MemoryProvider | None:
    """The provider for a host; None when a setting switched it off."""
    return MemoryProvider(around) if around.config.memory.enabled else None


def _open(around: Surroundings) -> "Memory":
    from pi_fabric.memory import Memory  # noqa: PLC0415 - only who asks pays for it

    return Memory(config=around.config.memory, environ=around.environ, regex=around.regex)


async def _current(port: SessionPort | None) -> "Current | None":
    """The host's session as memory takes it; None where there is none, or none in a file."""
    live = None if port is None else await port.current()
    if live is None or live.file is None:
        return None
    from pi_fabric.memory import Current  # noqa: PLC0415 - loaded by now
    from pi_fabric.memory.lineage import LiveBranch  # noqa: PLC0415 - as above

    return Current(file=str(live.file), branch=LiveBranch(ids=live.branch_ids, leaf_id=live.leaf_id))
