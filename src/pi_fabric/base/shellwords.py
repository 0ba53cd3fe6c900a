"""Command lines for people to copy: what a shell reads back is what was meant, whatever a name holds."""

import shlex
from collections.abc import Iterable


def command_line(parts: Iterable[str]) -> str:
    """A command on one line that cannot steer a terminal.

    A word with line breaks or control characters is written as `$'...'`, which bash, zsh and ksh read.
    """
    return " ".join(shlex.quote(part) if part.isprintable() else _escaped(part) for part in parts)


def _escaped(word: str) -> str:
    return "$'" + "".join(_escape(char) for char in word) + "'"


def _escape(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
