"""`edit`: exact replacements in one file, all of them or none."""

import anyio
import msgspec

from pi_fabric.base.jsonvalue import JsonObject, scrub
from pi_fabric.host.standalone import text_file
from pi_fabric.host.standalone.call import ToolCall
from pi_fabric.host.standalone.diff import diff_spans
from pi_fabric.host.standalone.limits import counted
from pi_fabric.host.standalone.locks import PathLocks
from pi_fabric.host.standalone.paths import look_up, resolve
from pi_fabric.host.standalone.replacing import Edit, Span, Unmatched, apply_spans, find_spans
from pi_fabric.host.standalone.text_file import TextFile
from pi_fabric.protocol.host import ToolResult


class EditArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `edit`."""

    path: str
    edits: list[Edit]


async def edit(call: ToolCall, *, locks: PathLocks) -> ToolResult:
    """Apply a batch of edits; each is matched against the file as it was before the first."""
    args = call.arguments(EditArguments)
    if not args.edits:
        raise call.failed("edits is empty; give at least one {oldText, newText}")
    async with locks.holding(resolve(call, args.path)):
        return await anyio.to_thread.run_sync(_edit, call, args)


def _edit(call: ToolCall, args: EditArguments) -> ToolResult:
    path = resolve(call, args.path)
    text_file.check_writable(call, path, args.path, look_up(call, path, args.path))
    before = text_file.load(call, path, args.path)
    spans = _spans(call, args, before)
    after = apply_spans(before.text, spans)
    if after == before.text:
        raise call.failed(f"{args.path}: the edits change nothing; newText equals oldText")
    text_file.store(call, path, args.path, before.encode(after), expected=before.version)
    places = counted(len(spans), "place")
    return ToolResult(
        text=f"{args.path}: {places} replaced", details=_details(args.path, before, after, spans)
    )


def _spans(call: ToolCall, args: EditArguments, file: TextFile) -> list[Span]:
    adapted: list[Edit] = []
    for edit in args.edits:
        old_text, new_text = file.adapt(edit.old_text, edit.new_text)
        adapted.append(Edit(old_text=old_text, new_text=new_text, all=edit.all))
    try:
        return find_spans(file.text, adapted)
    except Unmatched as error:
        raise call.failed(f"{args.path} is unchanged: {error}") from error


def _details(given: str, before: TextFile, after: str, spans: list[Span]) -> JsonObject:
    diff = diff_spans(given, before.text, after, spans)
    return {
        "diff": scrub(diff.text),
        "replacements": len(spans),
        "firstChangedLine": diff.first_changed_line,
    }
