r"""Globs over relative paths, with the meaning they have in ignore files.

ripgrep's own `--glob` lets a file through that an ignore file excludes, so globs are matched here.
`*` and `?` stay within a name, `**` crosses folders, `[abc]` and `{a,b}` choose, `\` quotes. A glob
without a slash is about the file name; one with a slash is about the path from the searched folder.
"""

import re


class BadGlob(Exception):
    """The glob cannot be read; the message says why."""


def compile_glob(glob: str) -> re.Pattern[str]:
    """A pattern whose `fullmatch` takes relative paths with `/` between names.

    Raises:
        BadGlob: If a bracket or a brace is not closed.
    """
    start = "" if "/" in glob else "(?:.*/)?"
    return re.compile(start + _Translator(glob.removeprefix("./").removeprefix("/")).run(), re.DOTALL)


def name_glob(glob: str) -> str | None:
    """A glob that the file name of every match fits; None when the last part says nothing about it."""
    name = glob.rpartition("/")[2]
    # A brace that reaches over the slash leaves half of itself here.
    is_whole = name.count("{") == name.count("}") and name.count("[") == name.count("]")
    return name if name.strip("*") and is_whole and "\\" not in name else None


class _Translator:
    """Turns one glob into the text of a regular expression, left to right."""

    def __init__(self, glob: str) -> None:
        self._glob = glob
        self._at = 0
        self._depth = 0

    def run(self) -> str:
        parts: list[str] = []
        while self._at < len(self._glob):
            parts.append(self._next())
        if self._depth:
            raise BadGlob(f"the glob {self._glob} has a {{ that is not closed")
        return "".join(parts)

    def _next(self) -> str:
        char = self._glob[self._at]
        if char == "*":
            return self._stars()
        if char == "[":
            return self._brackets()
        self._at += 1
        if char == "?":
            return "[^/]"
        if char == "\\" and self._at < len(self._glob):
            self._at += 1
            return re.escape(self._glob[self._at - 1])
        return self._brace(char)

    def _brace(self, char: str) -> str:
        if char == "{":
            self._depth += 1
            return "(?:"
        if self._depth and char == ",":
            return "|"
        if self._depth and char == "}":
            self._depth -= 1
            return ")"
        return re.escape(char)

    def _stars(self) -> str:
        start = self._at
        while self._glob[self._at : self._at + 1] == "*":
            self._at += 1
        is_segment = self._at - start > 1 and self._glob[start - 1 : start] in ("", "/", "{", ",")
        if not is_segment:
            return "[^/]*"
        if self._glob[self._at : self._at + 1] == "/":
            self._at += 1
            return "(?:.*/)?"
        return ".*" if self._at == len(self._glob) else "[^/]*"

    def _brackets(self) -> str:
        start = self._at + 1
        negated = self._glob[start : start + 1] in ("!", "^")
        first = start + negated
        # A bracket right at the start is one of the choices.
        end = self._glob.find("]", first + 1)
        if end < 0:
            raise BadGlob(f"the glob {self._glob} has a [ that is not closed")
        self._at = end + 1
        choices = re.sub(r"([\\\[\]&~|^])", r"\\\1", self._glob[first:end])
        return f"(?!/)[{'^' if negated else ''}{choices}]"
