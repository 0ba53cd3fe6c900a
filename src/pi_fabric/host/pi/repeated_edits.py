"""Edits with `all: true` for Pi, whose own tool replaces one place for each edit.

The edits are applied to the file's text here, and Pi is given one edit that spans everything that
changes. A span that holds every occurrence of a repeated text is itself unique, so Pi still finds it, checks
it, and asks whoever it asks.
"""

from pathlib import Path

import msgspec

from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object
from pi_fabric.host.standalone.replacing import Edit, Unmatched, apply_spans, find_spans


def has_repeated_edits(name: str, args: JsonObject) -> bool:
    """True when a call needs `spanning`."""
    edits = args.get("edits")
    return name == "edit" and is_array(edits) and any(is_object(edit) and "all" in edit for edit in edits)


def spanning(args: JsonObject, cwd: Path) -> JsonObject:
    """Arguments for Pi that change the same places without `all`. Blocking.

    What cannot be read or matched here is passed on without the flag: Pi then says what is wrong.
    """
    edits = [_without_flag(edit) for edit in args["edits"]]
    plain = {**args, "edits": edits}
    if not any(edit.get("all") is True for edit in args["edits"] if is_object(edit)):
        return plain
    try:
        # Pi matches LF text too, whatever ends the file's lines have.
        text = (cwd / Path(args["path"]).expanduser()).read_text(encoding="utf-8").replace("\r\n", "\n")
        wanted = msgspec.convert(args["edits"], list[Edit])
        spans = find_spans(text, wanted)
    except (OSError, ValueError, Unmatched, msgspec.ValidationError):
        return plain
    if len(spans) == len(edits):
        return plain
    start, end = spans[0].start, spans[-1].end
    changed = apply_spans(text, spans)
    new_end = len(changed) - (len(text) - end)
    return {**args, "edits": [{"oldText": text[start:end], "newText": changed[start:new_end]}]}


def _without_flag(edit: Json) -> Json:
    return {key: value for key, value in edit.items() if key != "all"} if is_object(edit) else edit
