"""Project logs of Claude Code read as Pi's entries.

What somebody said or a tool gave back is carried over, each record's part of it as entries of its own; what
is state of the program (snapshots of files, modes, hooks, queues, reminders, retries) gives nothing.

Branches are those of the log (see `claude_links`). A sub-agent's records (`isSidechain`) form a branch of
their own, which is never the end of the log: where one comes last, a `custom` entry without text behind the
main conversation makes that the leaf. A log of nothing but a sub-agent keeps its own end.

Only what the user typed is the user's: what the program says in the user's place, and what an agent asks
its sub-agent, are custom messages. A summary after a compaction is Pi's `compaction`.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

from pi_fabric.base.jsonvalue import (
    Json,
    JsonObject,
    array_or_empty,
    is_finite_number,
    is_object,
    object_or_empty,
    text_or_empty,
)
from pi_fabric.history.session.claude_links import Links
from pi_fabric.history.session.translation import (
    About,
    assistant_body,
    compaction_body,
    custom_body,
    entry_of,
    home_path,
    plain_texts,
    result_body,
    translated,
    user_body,
)

# How a text begins that the program writes in the user's place.
_PROGRAM_MARKS: Final = (
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
    "<task-notification>",
)
# Modes of a queued command that the user typed.
_TYPED_MODES: Final = (None, "prompt", "bash")
_TITLE_FIELDS: Final[Mapping[str, str]] = {"custom-title": "customTitle", "ai-title": "aiTitle"}
_CALL_TYPES: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_STOP_REASONS: Final[Mapping[str, str]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "toolUse",
}


def claude_root(environ: Mapping[str, str]) -> Path | None:
    """The folder in which Claude Code keeps its logs, one folder for each project.

    `projects` in `CLAUDE_CONFIG_DIR`, else in `.claude` of the user's home; None when neither is known.
    Logs of sub-agents lie deeper, as `agent-*.jsonl`. A project's folder is named after its path with
    losses: only the log tells the path.
    """
    home = home_path(environ, "CLAUDE_CONFIG_DIR", ".claude")
    return home and home / "projects"


def translate_claude(values: Iterable[Json]) -> Iterator[JsonObject]:
    """A log as Pi would have written it: the header, then the entries in order; lazy.

    The header has no `id` when the log names none, and an empty `cwd` when its beginning names none. The
    id of a sub-agent's own log is `agent-<its id>`, since it names the session of its parent.

    Args:
        values: The decoded lines, all of them: ids of records without a uuid count them. Any JSON; what
            is unknown gives nothing.
    """
    return translated(ClaudeTranslator(), values)


class ClaudeTranslator:
    """Gives the entries of a log value by value; keeps ids, hashes and names of tools, no texts."""

    def __init__(self) -> None:
        self.about = About()
        self._links = Links()
        self._place = 0
        self._tool_names: dict[str, str] = {}
        self._titles: dict[str, str] = {}
        self._tokens_before: float = 0
        self._kept_id: str | None = None

    def entries(self, value: Json) -> list[JsonObject]:
        """The entries that the next value of the log gives; empty for state and for what is unknown."""
        self._place += 1
        if not is_object(value):
            return []
        self._learn(value)
        return self._links.place(
            value, self._bodies(value), own_id=self._own_id(), timestamp=self.about.latest
        )

    def closing(self) -> list[JsonObject]:
        """The entry that keeps the main conversation's end the leaf; empty when it is one already."""
        leaf_id = self._links.leaf_behind_agent()
        if leaf_id is None:
            return []
        entry_id = self._links.unused(f"{leaf_id}/leaf")
        body: JsonObject = {"type": "custom", "customType": "claude:main-branch"}
        return [entry_of(body, entry_id=entry_id, parent_id=leaf_id, timestamp=self.about.latest)]

    def _own_id(self) -> str:
        # Eight hexadecimal digits, as Pi's ids have.
        return f"{self._place:08x}"

    def _learn(self, record: JsonObject) -> None:
        session_id = record.get("sessionId")
        agent_id = record.get("agentId")
        if record.get("isSidechain") is True and isinstance(agent_id, str) and agent_id:
            session_id = f"agent-{agent_id}"
        self.about.learn(session_id=session_id, cwd=record.get("cwd"), timestamp=record.get("timestamp"))

    def _bodies(self, record: JsonObject) -> list[JsonObject]:
        kind = record.get("type")
        message = object_or_empty(record.get("message"))
        if kind == "assistant":
            return self._answered(record, message)
        if kind == "user":
            return self._asked(record, message.get("content"))
        if kind == "attachment":
            return _queued(record)
        if kind == "system":
            return self._system(record)
        if kind == "summary":
            return _custom("claude:summary", record.get("summary"))
        return self._title(record, kind) if isinstance(kind, str) and kind in _TITLE_FIELDS else []

    def _answered(self, record: JsonObject, message: JsonObject) -> list[JsonObject]:
        facts = _facts(record, message)
        parts: list[JsonObject] = []
        bodies: list[JsonObject] = []
        for index, block in enumerate(_blocks(message.get("content"))):
            if _is_result(block):
                # Of tools that run at the provider.
                bodies += [assistant_body(parts, **facts)] if parts else []
                bodies.append(self._result(record, block))
                parts = []
            elif (part := self._part(block, index)) is not None:
                parts.append(part)
        return [*bodies, assistant_body(parts, **facts)] if parts else bodies

    def _part(self, block: JsonObject, index: int) -> JsonObject | None:
        kind = block.get("type")
        if kind == "thinking":
            thought = text_or_empty(block.get("thinking"))
            return {"type": "thinking", "thinking": thought} if thought else None
        if kind in _CALL_TYPES:
            call_id = text_or_empty(block.get("id")) or f"{self._own_id()}#{index}"
            name = text_or_empty(block.get("name"))
            self._tool_names[call_id] = name
            arguments = object_or_empty(block.get("input"))
            return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        texts = plain_texts(block)
        return {"type": "text", "text": texts[0]} if texts else None

    def _asked(self, record: JsonObject, content: Json) -> list[JsonObject]:
        blocks = _blocks(content)
        if record.get("isCompactSummary") is True:
            return self._compacted("\n".join(plain_texts(blocks)))
        bodies: list[JsonObject] = []
        for is_result, group in groupby(blocks, _is_result):
            if is_result:
                bodies += [self._result(record, block) for block in group]
            else:
                bodies += _said(record, plain_texts(list(group)))
        return bodies

    def _compacted(self, summary: str) -> list[JsonObject]:
        if not summary:
            return []
        body = compaction_body(summary, self._tokens_before, self._kept_id)
        self._tokens_before, self._kept_id = 0, None
        return [body]

    def _result(self, record: JsonObject, block: JsonObject) -> JsonObject:
        call_id = text_or_empty(block.get("tool_use_id")) or text_or_empty(record.get("sourceToolUseID"))
        told = object_or_empty(record.get("toolUseResult"))
        return result_body(
            call_id=call_id,
            tool_name=self._tool_names.get(call_id, ""),
            texts=plain_texts(block.get("content")),
            is_error=block.get("is_error") is True or told.get("is_error") is True,
        )

    def _system(self, record: JsonObject) -> list[JsonObject]:
        kind = record.get("subtype")
        if kind == "compact_boundary":
            facts = object_or_empty(record.get("compactMetadata"))
            tokens = facts.get("preTokens")
            self._tokens_before = tokens if is_finite_number(tokens) else 0
            kept = object_or_empty(facts.get("preservedSegment"))
            self._kept_id = self._links.entry_id(kept.get("headUuid"))
        if kind == "local_command":
            return _said(record, plain_texts(record.get("content")))
        return _custom("claude:recap", record.get("content")) if kind == "away_summary" else []

    def _title(self, record: JsonObject, kind: str) -> list[JsonObject]:
        title = text_or_empty(record.get(_TITLE_FIELDS[kind]))
        # Written again after every turn.
        if not title or self._titles.get(kind) == title:
            return []
        self._titles[kind] = title
        return [{"type": "session_info", "name": title}]


def _blocks(content: Json) -> list[JsonObject]:
    """The blocks of a message; a text counts as one."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in array_or_empty(content) if is_object(block)]


def _is_result(block: JsonObject) -> bool:
    return text_or_empty(block.get("type")).endswith("tool_result")


def _custom(custom_type: str, text: Json) -> list[JsonObject]:
    return [custom_body(custom_type, [text])] if isinstance(text, str) and text else []


def _said(record: JsonObject, texts: Iterable[str]) -> list[JsonObject]:
    """What was said in the user's place, by the user or not; one body for each change of speaker."""
    bodies: list[JsonObject] = []
    for custom_type, group in groupby(texts, lambda text: _program_type(record, text)):
        said = list(group)
        bodies.append(custom_body(custom_type, said) if custom_type else user_body(said))
    return bodies


def _program_type(record: JsonObject, text: str) -> str | None:
    """The type of a text that is not the user's own; None for one that is."""
    origin = object_or_empty(record.get("origin")).get("kind", "human")
    if record.get("isSidechain") is True:
        return "claude:subagent-prompt"
    if record.get("isMeta") is True:
        return "claude:meta"
    if origin != "human":
        return "claude:notice"
    return "claude:output" if text.lstrip().startswith(_PROGRAM_MARKS) else None


def _queued(record: JsonObject) -> list[JsonObject]:
    """What the user said while the model was at work; the only attachment that is conversation."""
    attachment = object_or_empty(record.get("attachment"))
    if attachment.get("type") != "queued_command":
        return []
    is_typed = attachment.get("commandMode") in _TYPED_MODES and attachment.get("isMeta") is not True
    speaker = {**record, "isMeta": not is_typed, "origin": attachment.get("origin")}
    return _said(speaker, plain_texts(_blocks(attachment.get("prompt"))))


def _facts(record: JsonObject, message: JsonObject) -> JsonObject:
    reason = message.get("stop_reason")
    stop_reason = _STOP_REASONS.get(reason) if isinstance(reason, str) else None
    if record.get("isApiErrorMessage") is True:
        stop_reason = "error"
    elif record.get("isAbortedMidStream") is True:
        stop_reason = "aborted"
    return {"model": text_or_empty(message.get("model")) or None, "stopReason": stop_reason}
