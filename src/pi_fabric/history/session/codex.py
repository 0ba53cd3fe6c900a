"""Rollouts of Codex read as Pi's entries, one in a row.

A rollout holds what the model was sent and what it gave (`response_item`) and, beside it, what the screen
showed of the same (`event_msg`): content comes from the first alone, the second only tells which calls
failed and how large the context was. The oldest files have the items themselves as their lines. Forks and
rolled back turns are not told apart: every entry follows the one before it.

Ids are the places of the values in the log, so they stay as the file grows.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

from pi_fabric.base.jsonvalue import (
    Json,
    JsonObject,
    decode,
    is_finite_number,
    is_object,
    object_or_empty,
    text_or_empty,
)
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

# How a text begins that Codex itself puts into the user's mouth; compared without regard to case.
_PSEUDO_MARKS: Final[Mapping[str, str]] = {
    "<environment_context>": "codex:environment",
    "<additional_context>": "codex:environment",
    "<user_instructions>": "codex:instructions",
    "# agents.md instructions": "codex:instructions",
    "<instructions>": "codex:instructions",
    "<developer_instructions>": "codex:instructions",
    "<permissions instructions>": "codex:instructions",
    "<collaboration_mode>": "codex:instructions",
    "<skill>": "codex:instructions",
    "<turn_aborted>": "codex:notice",
    "<user_shell_command>": "codex:notice",
    "<subagent_notification>": "codex:notice",
}
_LONGEST_MARK: Final = max(map(len, _PSEUDO_MARKS))

# The oldest logs name their folder nowhere else.
_NAMED_FOLDER: Final = re.compile(r"<cwd>([^<\n]+)</cwd>|^Current working directory: (.+)$", re.MULTILINE)


def codex_root(environ: Mapping[str, str]) -> Path | None:
    """The folder below which Codex keeps its rollouts, as `YYYY/MM/DD/rollout-*.jsonl`.

    `sessions` in `CODEX_HOME`, else in `.codex` of the user's home; None when neither is known.
    """
    home = home_path(environ, "CODEX_HOME", ".codex")
    return home and home / "sessions"


def translate_codex(values: Iterable[Json]) -> Iterator[JsonObject]:
    """A rollout as Pi would have written it: the header, then the entries in order; lazy.

    The header has no `id` when the log names none, and an empty `cwd` when its beginning names none.

    Args:
        values: The decoded lines, all of them: ids count them. Any JSON; what is unknown gives nothing.
    """
    return translated(CodexTranslator(), values)


class CodexTranslator:
    """Gives the entries of a rollout value by value; keeps a name or a mark for each call, no texts.

    A `compacted` record carries the whole history once more: it is not looked at.
    """

    def __init__(self) -> None:
        self.about = About()
        self._place = 0
        self._last_id: str | None = None
        self._model: str | None = None
        self._context_tokens: float = 0
        self._tool_names: dict[str, str] = {}
        self._failed_calls: set[str] = set()
        self._items: dict[str, Callable[[JsonObject], list[JsonObject]]] = {
            "message": self._message,
            "agent_message": _agent_message,
            "reasoning": self._reasoning,
            "function_call": self._function_call,
            "custom_tool_call": self._function_call,
            "tool_search_call": self._function_call,
            "local_shell_call": self._action_call,
            "web_search_call": self._action_call,
            "image_generation_call": self._image_call,
            "function_call_output": self._output,
            "custom_tool_call_output": self._output,
            "tool_search_output": self._output,
        }

    def entries(self, value: Json) -> list[JsonObject]:
        """The entries that the next value of the log gives; empty for state and for what is unknown."""
        self._place += 1
        if not is_object(value):
            return []
        self.about.learn(timestamp=value.get("timestamp"))
        return [self._placed(body, index) for index, body in enumerate(self._bodies(value))]

    def closing(self) -> list[JsonObject]:
        """Nothing: the last entry is the leaf."""
        return []

    def _bodies(self, record: JsonObject) -> list[JsonObject]:
        kind = record.get("type")
        payload = object_or_empty(record.get("payload"))
        if kind == "response_item":
            return self._item(payload)
        if kind == "compacted":
            return [compaction_body(text_or_empty(payload.get("message")), self._context_tokens)]
        if kind == "event_msg":
            self._note_event(payload)
        elif kind in ("session_meta", "turn_context"):
            self._note_context(payload)
        elif kind is None:
            # The first line of the oldest logs.
            self.about.learn(session_id=record.get("id"), cwd=record.get("cwd"))
        elif "payload" not in record:
            return self._item(record)
        return []

    def _item(self, item: JsonObject) -> list[JsonObject]:
        kind = item.get("type")
        bodies_of = self._items.get(kind) if isinstance(kind, str) else None
        return [] if bodies_of is None else bodies_of(item)

    def _placed(self, body: JsonObject, index: int) -> JsonObject:
        entry_id = self._own_id() if not index else f"{self._own_id()}/{index}"
        entry = entry_of(body, entry_id=entry_id, parent_id=self._last_id, timestamp=self.about.latest)
        self._last_id = entry_id
        return entry

    def _own_id(self) -> str:
        # Eight hexadecimal digits, as Pi's ids have.
        return f"{self._place:08x}"

    def _note_context(self, payload: JsonObject) -> None:
        # Only a session_meta has an id.
        self.about.learn(
            session_id=payload.get("id"), cwd=payload.get("cwd"), timestamp=payload.get("timestamp")
        )
        self._model = text_or_empty(payload.get("model")) or self._model

    def _note_event(self, event: JsonObject) -> None:
        usage = object_or_empty(object_or_empty(event.get("info")).get("last_token_usage"))
        tokens = usage.get("total_tokens")
        if is_finite_number(tokens):
            self._context_tokens = tokens
        call_id = event.get("call_id")
        if isinstance(call_id, str) and _tells_failure(event):
            self._failed_calls.add(call_id)

    def _message(self, item: JsonObject) -> list[JsonObject]:
        texts = plain_texts(item.get("content"))
        role = item.get("role")
        if not texts:
            return []
        if role == "assistant":
            return [assistant_body([{"type": "text", "text": text} for text in texts], model=self._model)]
        if role != "user":
            return [custom_body("codex:instructions", texts)]
        bodies: list[JsonObject] = []
        for custom_type, said in groupby(texts, _pseudo_type):
            group = list(said)
            if custom_type == "codex:environment":
                self._note_folder(group)
            bodies.append(custom_body(custom_type, group) if custom_type else user_body(group))
        return bodies

    def _note_folder(self, texts: Iterable[str]) -> None:
        for text in texts:
            if found := _NAMED_FOLDER.search(text):
                self.about.learn(cwd=(found[1] or found[2]).strip())

    def _reasoning(self, item: JsonObject) -> list[JsonObject]:
        texts = plain_texts(item.get("summary")) or plain_texts(item.get("content"))
        thoughts: list[JsonObject] = [{"type": "thinking", "thinking": text} for text in texts]
        return [assistant_body(thoughts, model=self._model)] if thoughts else []

    def _function_call(self, item: JsonObject) -> list[JsonObject]:
        given = item.get("input") if "input" in item else item.get("arguments")
        arguments = given if is_object(given) else _read_arguments(given)
        return self._call(item, _tool_name(item), arguments)

    def _action_call(self, item: JsonObject) -> list[JsonObject]:
        action = object_or_empty(item.get("action"))
        arguments = {name: fact for name, fact in action.items() if name != "type" and fact is not None}
        return self._call(item, _tool_name(item), arguments)

    def _image_call(self, item: JsonObject) -> list[JsonObject]:
        # Its result is the image itself.
        return self._call(item, _tool_name(item), {"prompt": text_or_empty(item.get("revised_prompt"))})

    def _call(self, item: JsonObject, name: str, arguments: JsonObject) -> list[JsonObject]:
        call_id = text_or_empty(item.get("call_id")) or text_or_empty(item.get("id")) or self._own_id()
        self._tool_names[call_id] = name
        call = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        return [assistant_body([call], model=self._model)]

    def _output(self, item: JsonObject) -> list[JsonObject]:
        call_id = text_or_empty(item.get("call_id"))
        texts, is_error = _read_output(item.get("output"))
        return [
            result_body(
                call_id=call_id,
                tool_name=self._tool_names.get(call_id, ""),
                texts=texts,
                is_error=is_error or call_id in self._failed_calls,
            )
        ]


def _agent_message(item: JsonObject) -> list[JsonObject]:
    texts = plain_texts(item.get("content"))
    return [custom_body("codex:agent-message", texts)] if texts else []


def _pseudo_type(text: str) -> str | None:
    """The type of a text that Codex put into the user's mouth; None for the user's own words."""
    start = text.lstrip()[:_LONGEST_MARK].lower()
    return next((kind for mark, kind in _PSEUDO_MARKS.items() if start.startswith(mark)), None)


def _tool_name(item: JsonObject) -> str:
    return text_or_empty(item.get("name")) or text_or_empty(item.get("type")).removesuffix("_call")


def _read_arguments(given: Json) -> JsonObject:
    """Arguments are JSON in a string; what is none, a patch for example, is the one argument `input`."""
    if not isinstance(given, str) or not given:
        return {}
    arguments = _read_json_object(given)
    return {"input": given} if arguments is None else arguments


def _read_output(output: Json) -> tuple[list[str], bool]:
    """The texts of a tool's output and whether a field of it tells a failure.

    Shapes: text, parts, `{content, success}`, and JSON in a string `{output, metadata: {exit_code}}`.
    """
    told = _read_json_object(output) if isinstance(output, str) else output
    if is_object(told) and "metadata" in told and isinstance(told.get("output"), str):
        return plain_texts(told["output"]), _is_failure(object_or_empty(told["metadata"]).get("exit_code"))
    if is_object(output) and "content" in output:
        return plain_texts(output["content"]), output.get("success") is False
    return plain_texts(output), False


def _read_json_object(text: str) -> JsonObject | None:
    if not text.startswith("{"):
        return None
    try:
        value = decode(text.encode("utf-8", "replace"))
    except ValueError:
        return None
    return value if is_object(value) else None


def _tells_failure(event: JsonObject) -> bool:
    result = object_or_empty(event.get("result"))
    is_refused = "Err" in result or object_or_empty(result.get("Ok")).get("isError") is True
    return is_refused or event.get("success") is False or _is_failure(event.get("exit_code"))


def _is_failure(exit_code: Json) -> bool:
    return is_finite_number(exit_code) and exit_code != 0
