"""Kinds `clip` (UTF-8 bounds) and `format_value` (a value as the model reads it)."""

import re

from pi_fabric.base.bounds import clip_bytes, take_units
from pi_fabric.base.jsonvalue import UNDEFINED, JsonObject, stringify
from pi_fabric.execution.format_value import format_value

# A line of block YAML: indent and dashes, perhaps a key, perhaps a scalar.
ENTRY = re.compile(
    r"""(?P<lead>(?:\ |-\ )*)"""
    r"""(?:(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^"'\s].*?):(?=\ |$)\ ?)?(?P<scalar>.*)""",
    re.VERBOSE,
)
# Plain scalars that YAML 1.2 does not read as strings.
NO_STRING = re.compile(
    r"~|null|true|false|\{\}|\[\]|[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+|[-+]?\.inf|\.nan"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?",
    re.IGNORECASE,
)
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
NAMED_ESCAPES = dict(zip("0abtnvfre_NLP", "\0\a\b\t\n\v\f\r\x1b\xa0\x85\u2028\u2029", strict=True))
RECORDED_MARKER = re.compile(r"<HOISTED (.*)>")
RECORDED_HEADING = re.compile(r"\n\n<RAW (.*) (\d+)>\n")
OWN_MARKER = re.compile(r"\[text below: (.*)\]")
OWN_HEADING = re.compile(r"\n\n\[text of (.*), (\d+) characters\]\n")


def check_clip(case: JsonObject) -> list[str]:
    """Compare the clipped text."""
    clipped = clip_bytes(case["input"]["text"], case["input"]["maxBytes"])
    return _differ("text", clipped, case["output"]["text"])


def check_format_value(case: JsonObject) -> list[str]:
    """Compare the text, and what it is to be highlighted as."""
    given: JsonObject = case["input"]
    expected: JsonObject = case["output"]
    formatted = format_value(given.get("value", UNDEFINED), given["format"])
    differences = _differ("language", formatted.language, expected.get("language"))
    if formatted.text == expected["text"]:
        return differences
    if given["format"] not in {"auto", "yaml"}:
        return [*differences, *_differ("text", formatted.text, expected["text"])]
    own_body, own_raw = _split(formatted.text, OWN_HEADING)
    body, raw = _split(expected["text"], RECORDED_HEADING)
    differences += _differ("raw sections", own_raw, raw)
    own_lines = [_normalize(line, OWN_MARKER) for line in own_body.split("\n")]
    lines = [_normalize(line, RECORDED_MARKER) for line in body.split("\n")]
    return differences + _differ("yaml", own_lines, lines)


def _differ(what: str, own: object, expected: object) -> list[str]:
    return [] if own == expected else [f"{what}: {own!r}, expected {expected!r}"[:400]]


def _split(text: str, heading: re.Pattern[str]) -> tuple[str, list[tuple[str, str]]]:
    """The YAML, and path and text of each raw section; the headings say how long each is."""
    found = heading.search(text)
    if found is None:
        return text, []
    body, sections = text[: found.start()], list[tuple[str, str]]()
    rest = text[found.start() :]
    while (found := heading.match(rest)) is not None:
        raw = take_units(rest[found.end() :], int(found[2]))
        sections.append((_path(found[1]), raw))
        rest = rest[found.end() + len(raw) :]
    return body, [*sections, ("rest", rest)] if rest else sections


def _normalize(line: str, marker: re.Pattern[str]) -> tuple[str, str, str]:
    """Indent, key and scalar of a line; the two with one quoting for all strings."""
    found = ENTRY.fullmatch(line)
    if found is None:
        return line, "", ""
    key = "" if found["key"] is None else _scalar(found["key"], marker) + ":"
    return found["lead"], key, _scalar(found["scalar"], marker)


def _scalar(written: str, marker: re.Pattern[str]) -> str:
    if not written or NO_STRING.fullmatch(written):
        return written
    text = _unquote(written)
    hoisted = marker.fullmatch(text)
    return f"<{_path(hoisted[1])}>" if hoisted else stringify(text)


def _unquote(written: str) -> str:
    # By hand: PyYAML refuses characters that YAML 1.2 allows between quotes.
    if len(written) > 1 and written[0] == written[-1] == "'":
        return written[1:-1].replace("''", "'")
    if len(written) > 1 and written[0] == written[-1] == '"':
        return ESCAPE.sub(_unescape, written[1:-1])
    return written


def _unescape(found: re.Match[str]) -> str:
    digits = found[1] or found[2] or found[3]
    return chr(int(digits, 16)) if digits else NAMED_ESCAPES.get(found[4], found[4])


def _path(written: str) -> str:
    # How a path is punctuated is ours; its names and numbers are not.
    return " ".join(re.findall(r"\w+", written))
