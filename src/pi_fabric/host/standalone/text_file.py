"""A text file as edits see it: without its BOM, with LF ends where it has CRLF throughout.

What was read goes back byte for byte: bytes that are not UTF-8 pass through unharmed. Blocking.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pi_fabric.base.files import write_atomic
from pi_fabric.host.standalone.call import ToolCall
from pi_fabric.host.standalone.limits import size
from pi_fabric.host.standalone.paths import kind

# A larger file is data; it is held in memory several times while it is edited.
MAX_EDITED_BYTES: Final = 64 * 1024 * 1024
_BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What tells one state of a file from the next."""

    inode: int
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """One state of a file."""

    text: str
    """LF only when `has_crlf`; bytes that are not UTF-8 are lone surrogates."""
    has_bom: bool
    has_crlf: bool
    """True when every line ends in CRLF."""
    version: Version

    def adapt(self, old_text: str, new_text: str) -> tuple[str, str]:
        """Both texts of an edit in the form of `text`."""
        if self.has_bom and old_text.startswith(_BOM):
            old_text, new_text = old_text.removeprefix(_BOM), new_text.removeprefix(_BOM)
        if self.has_crlf:
            old_text, new_text = old_text.replace("\r\n", "\n"), new_text.replace("\r\n", "\n")
        return old_text, new_text

    def encode(self, text: str) -> bytes:
        """The bytes of the file with `text` in it."""
        if self.has_crlf:
            text = text.replace("\n", "\r\n")
        return ((_BOM if self.has_bom else "") + text).encode("utf-8", "surrogateescape")


def check_writable(call: ToolCall, path: Path, given: str, info: os.stat_result) -> None:
    """Refuse what is no regular file or is write-protected.

    Renaming over a protected file would succeed; its owner meant something else.

    Raises:
        ToolFailed: With the reason.
    """
    if not stat.S_ISREG(info.st_mode):
        raise call.failed(f"{given} is {kind(info.st_mode)}; only regular files are written")
    if not os.access(path, os.W_OK):
        raise call.failed(f"{given} is write-protected; change its permissions first (chmod u+w)")


def load(call: ToolCall, path: Path, given: str) -> TextFile:
    """Read a whole file.

    Raises:
        ToolFailed: If it is too large.
    """
    with path.open("rb") as stream:
        info = os.fstat(stream.fileno())
        if info.st_size > MAX_EDITED_BYTES:
            raise call.failed(
                f"{given} is {size(info.st_size)}; files of at most {size(MAX_EDITED_BYTES)} are edited."
                " Use bash, such as sed -i."
            )
        data = stream.read()
    text = data.decode("utf-8", "surrogateescape")
    has_bom = text.startswith(_BOM)
    text = text.removeprefix(_BOM)
    has_crlf = "\r\n" in text and text.count("\n") == text.count("\r\n")
    return TextFile(
        text=text.replace("\r\n", "\n") if has_crlf else text,
        has_bom=has_bom,
        has_crlf=has_crlf,
        version=version(info),
    )


def store(call: ToolCall, path: Path, given: str, data: bytes, *, expected: Version | None) -> None:
    """Replace the file atomically; keeps its mode and the links that lead to it.

    Raises:
        ToolFailed: If it is no longer the state that was read.
    """
    if expected is not None and _current(path) != expected:
        raise call.failed(
            f"{given} was changed by someone else meanwhile; nothing was written, read it again"
        )
    write_atomic(path, data)


def version(info: os.stat_result) -> Version:
    """The state that a stat result describes."""
    return Version(inode=info.st_ino, size=info.st_size, modified_ns=info.st_mtime_ns)


def _current(path: Path) -> Version | None:
    try:
        return version(path.stat())
    except OSError:
        return None
