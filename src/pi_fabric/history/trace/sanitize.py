"""The last gate before the trace: whatever passes is small, textual and names no secret.

It runs after the allow list of `projection`, and does not rely on it.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Final

from pi_fabric.base.bounds import clip_bytes, json_bytes
from pi_fabric.base.jsonvalue import MAX_SAFE_INTEGER, Json, JsonObject, is_object, scrub
from pi_fabric.base.jstext import unit_order

# The specification's bounds: enough for any command line, too little for a file.
MAX_STRING_BYTES = 16 * 1024
MAX_VALUE_BYTES = 64 * 1024
MAX_DEPTH = 12
MAX_ENTRIES = 128
MAX_NODES = 8_192
# What a container that was cut to fit leaves free, so that its brackets and marks fit too.
_VALUE_MARGIN_BYTES = 128
# A shorter run of this alphabet may be a word or a hash.
_BASE64_MIN_CHARS = 1_024

CUT_MARK: Final = "…[cut]"
REDACTED_MARK: Final = "[redacted]"
BASE64_MARK: Final = "[base64 left out]"
MEDIA_MARK: Final = "[media left out]"
DEEP_MARK: Final = "[nested too deep]"
FULL_MARK: Final = "[too many values]"

_SECRET_KEY = re.compile(
    "(?:password|passwd|secret|token|authorization|cookie|credentials?|apikey|privatekey)$"
)
_MEDIA_KEYS = frozenset({"media", "image", "images", "audio", "video", "base64"})
_MEDIA_TYPE = re.compile("(?:image|audio|video)(?:/|$)", re.IGNORECASE)
_MEDIA_TYPE_KEYS = ("type", "mimeType", "mime_type", "mediaType", "media_type")
_NOT_ALPHANUMERIC = re.compile("[^a-z0-9]")
_DATA_URL = re.compile("data:[^,]{0,256};base64,", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/\r\n]+={0,2}[\r\n]*")


@dataclass(slots=True, kw_only=True)
class Kept:
    """A value that may be persisted, and what it took to make it so."""

    value: Json
    dropped: int = 0
    truncated: int = 0
    redacted: int = 0


def sanitize(value: Json, *, dropped: int = 0) -> Kept:
    """Make `value` safe and small enough for a trace.

    Args:
        value: JSON of any size and depth; the work is bounded by what may be kept of it.
        dropped: Values that were left out before; added to the count.

    Returns:
        The kept value with sorted keys, within 64 KiB of JSON.
    """
    walk = _Walk(kept=Kept(value=None, dropped=dropped))
    walk.kept.value = _within_bytes(walk.visit(value, 0), walk.kept)
    return walk.kept


def clip_text(text: str, max_bytes: int) -> tuple[str, bool]:
    """`text` without lone surrogates, cut with the trace's mark; True when it was cut."""
    # A prefix is enough: each character has at least one byte.
    clean = scrub(text[: max_bytes + 1])
    clipped = clip_bytes(clean, max_bytes, marker=CUT_MARK)
    return clipped, clipped != clean


@dataclass(slots=True, kw_only=True)
class _Walk:
    kept: Kept
    nodes: int = field(default=0)

    def visit(self, value: Json, depth: int) -> Json:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.kept.truncated += 1
            return FULL_MARK
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int | float):
            return _number(value)
        if depth >= MAX_DEPTH:
            self.kept.truncated += 1
            return DEEP_MARK
        return self._object(value, depth) if is_object(value) else self._array(value, depth)

    def _text(self, text: str) -> str:
        if _is_base64(text):
            self.kept.dropped += 1
            return BASE64_MARK
        clipped, is_cut = clip_text(text, MAX_STRING_BYTES)
        self.kept.truncated += is_cut
        return clipped

    def _object(self, value: JsonObject, depth: int) -> Json:
        if _is_media(value):
            self.kept.dropped += 1
            return MEDIA_MARK
        kept: JsonObject = {}
        keys = sorted(value, key=unit_order)
        for key in keys[:MAX_ENTRIES]:
            plain = _NOT_ALPHANUMERIC.sub("", key.lower())
            if plain in _MEDIA_KEYS:
                self.kept.dropped += 1
            elif _SECRET_KEY.search(plain):
                self.kept.redacted += 1
                kept[self._key(key)] = REDACTED_MARK
            else:
                kept[self._key(key)] = self.visit(value[key], depth + 1)
        self._leave_out(len(keys) - MAX_ENTRIES)
        return kept

    def _array(self, value: list[Json], depth: int) -> Json:
        self._leave_out(len(value) - MAX_ENTRIES)
        return [self.visit(item, depth + 1) for item in value[:MAX_ENTRIES]]

    def _key(self, key: str) -> str:
        clipped, is_cut = clip_text(key, MAX_STRING_BYTES)
        self.kept.truncated += is_cut
        return clipped

    def _leave_out(self, count: int) -> None:
        if count > 0:
            self.kept.dropped += count
            self.kept.truncated += 1


def _within_bytes(value: Json, kept: Kept) -> Json:
    """Keep whole leading entries of a container that is too large."""
    if json_bytes(value) <= MAX_VALUE_BYTES:
        return value
    room = MAX_VALUE_BYTES - _VALUE_MARGIN_BYTES
    kept.truncated += 1
    entries = list(value.items()) if is_object(value) else [(None, item) for item in value]
    fitting = 0
    for key, item in entries:
        room -= json_bytes(item) + 1 + (0 if key is None else json_bytes(key) + 1)
        if room < 0:
            break
        fitting += 1
    kept.dropped += len(entries) - fitting
    if is_object(value):
        return {key: value[key] for key in list(value)[:fitting]}
    return list(value)[:fitting]


def _number(value: float) -> Json:
    if isinstance(value, int):
        return value if abs(value) <= MAX_SAFE_INTEGER else str(value)
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _is_base64(text: str) -> bool:
    if _DATA_URL.match(text):
        return True
    return len(text) >= _BASE64_MIN_CHARS and len(text) % 4 == 0 and _BASE64.fullmatch(text) is not None


def _is_media(value: JsonObject) -> bool:
    types = (value.get(key) for key in _MEDIA_TYPE_KEYS)
    return any(isinstance(name, str) and _MEDIA_TYPE.match(name) for name in types)
