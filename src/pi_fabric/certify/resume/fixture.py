"""One task: a small repository, the session in which it was agreed, and what must hold at the end.

A fixture is a folder:

    fixture.json    what is expected, what must not change, and the oracle
    repo/           the repository as the session left it
    session.jsonl   Pi's session file, format 3
    expected/       the files that must be there at the end

What lies in that folder is checked here, so that a mistake is found before money is spent.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from pi_fabric.base.errors import ConfigError
from pi_fabric.base.jsonvalue import JsonObject, object_or_empty
from pi_fabric.history.session import Session, read_session

BUILT_IN: Final = Path(__file__).parent / "fixtures"
DESCRIPTION: Final = "fixture.json"
PLACEHOLDERS: Final = ("{python}", "{node}", "{fixture}")
"""What an oracle's words may hold: this Python, Node, and the fixture's own folder."""

# A session that a benchmark resumes many times; Pi itself holds all of it in memory.
MAX_SESSION_BYTES: Final = 64 * 1024 * 1024
# It is copied for every run, and compared.
MAX_REPO_BYTES: Final = 64 * 1024 * 1024
MAX_FILES: Final = 10_000
_DEFAULT_ORACLE_TIMEOUT_S: Final = 60.0
_MAX_DESCRIPTION_BYTES: Final = 256 * 1024

# It becomes a folder's name and a cell of a table.
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_PLACEHOLDER = re.compile(r"\{[a-z]*\}")

Comparison: TypeAlias = Literal["bytes", "text", "json"]
"""How an expected file is compared: to the byte; by lines, without trailing blanks; or by value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """One task, found to be whole."""

    name: str
    title: str
    folder: Path
    expected: Mapping[str, Comparison]
    """By path in the repository."""
    forbidden: tuple[str, ...]
    """Files, or folders with everything below them."""
    oracle: tuple[str, ...]
    """Program and arguments, with placeholders; runs in the repository and passes with exit code 0."""
    oracle_timeout_s: float

    @property
    def repo(self) -> Path:
        """The repository as the session left it."""
        return self.folder / "repo"

    @property
    def session(self) -> Path:
        """The session file."""
        return self.folder / "session.jsonl"

    def expected_file(self, path: str) -> Path:
        """Where the content of an expected file is."""
        return self.folder / "expected" / path


class _Description(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """`fixture.json`."""

    oracle: Annotated[list[str], msgspec.Meta(min_length=1)]
    title: Annotated[str, msgspec.Meta(max_length=100)] = ""
    expected: dict[str, Comparison] = {}
    forbidden: list[str] = []
    oracle_timeout_s: Annotated[float, msgspec.Meta(gt=0, le=3600)] = _DEFAULT_ORACLE_TIMEOUT_S


def load_fixtures(folder: Path) -> tuple[Fixture, ...]:
    """Read every fixture of a folder, by name. Blocking.

    Args:
        folder: Holds one folder for each fixture; files and hidden folders beside them are passed over.

    Raises:
        ConfigError: If there is none, or the first one that is not whole, with file and field.
    """
    try:
        places = sorted(
            place for place in folder.iterdir() if place.is_dir() and not place.name.startswith(".")
        )
    except OSError as error:
        raise ConfigError(folder, f"cannot be read: {error.strerror or error}") from error
    if not places:
        raise ConfigError(folder, f"holds no fixtures; each is a folder with a {DESCRIPTION}")
    return tuple(map(load_fixture, places))


def load_fixture(folder: Path) -> Fixture:
    """Read and check one fixture. Blocking.

    Raises:
        ConfigError: If it is not whole, with file and field.
    """
    if not _NAME.fullmatch(folder.name):
        raise ConfigError(folder, "the folder's name is not made of a-z, 0-9 and - (40 at most)")
    described = _description(folder / DESCRIPTION)
    fixture = Fixture(
        name=folder.name,
        title=described.title or folder.name,
        folder=folder.absolute(),
        expected=described.expected,
        forbidden=tuple(described.forbidden),
        oracle=tuple(described.oracle),
        oracle_timeout_s=described.oracle_timeout_s,
    )
    _check_repo(fixture)
    _check_expected(fixture)
    _check_forbidden(fixture)
    _check_oracle(fixture)
    _check_session(fixture.session)
    return fixture


def files_below(folder: Path) -> list[Path]:
    """Every file and link below a folder, sorted; links are not followed. Blocking."""
    found: list[Path] = []
    pending = [folder]
    while pending:
        for child in pending.pop().iterdir():
            if child.is_dir() and not child.is_symlink():
                pending.append(child)
            else:
                found.append(child)
    return sorted(found)


def _description(path: Path) -> _Description:
    try:
        data = path.read_bytes() if path.stat().st_size <= _MAX_DESCRIPTION_BYTES else None
    except OSError as error:
        raise ConfigError(path, f"cannot be read: {error.strerror or error}") from error
    if data is None:
        raise ConfigError(path, f"is larger than {_MAX_DESCRIPTION_BYTES // 1024} KiB")
    try:
        return msgspec.json.decode(data, type=_Description)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        # msgspec ends its sentence with the place: "... - at `$.expected`".
        reason, _, place = str(error).partition(" - at `")
        raise ConfigError(path, reason, pointer=place.rstrip("`")) from error


def _check_repo(fixture: Fixture) -> None:
    if not fixture.repo.is_dir():
        raise ConfigError(fixture.repo, "is no folder; the repository belongs there")
    files = files_below(fixture.repo)
    if not files:
        raise ConfigError(fixture.repo, "is empty")
    if len(files) > MAX_FILES:
        raise ConfigError(fixture.repo, f"holds more than {MAX_FILES:,} files")
    for file in files:
        if file.is_symlink() or not file.is_file():
            raise ConfigError(file, "is no regular file; links and devices cannot be compared")
    if sum(file.stat().st_size for file in files) > MAX_REPO_BYTES:
        raise ConfigError(fixture.repo, f"is larger than {MAX_REPO_BYTES // 2**20} MiB")


def _check_expected(fixture: Fixture) -> None:
    for path, comparison in fixture.expected.items():
        where = f"$.expected[{json.dumps(path)}]"
        _check_path(fixture, path, where)
        file = fixture.expected_file(path)
        if file.is_symlink() or not file.is_file():
            raise ConfigError(
                fixture.folder / DESCRIPTION, f"there is no file expected/{path}", pointer=where
            )
        if comparison == "json":
            try:
                json.loads(file.read_bytes())
            except (ValueError, RecursionError) as error:
                raise ConfigError(file, f"is to be compared as JSON and is none: {error}") from error


def _check_forbidden(fixture: Fixture) -> None:
    for number, path in enumerate(fixture.forbidden):
        where = f"$.forbidden[{number}]"
        _check_path(fixture, path, where)
        if not (fixture.repo / path).exists():
            reason = f"repo/{path} is not there, so it cannot stay as it is"
            raise ConfigError(fixture.folder / DESCRIPTION, reason, pointer=where)
        if path in fixture.expected:
            reason = f"{path} is expected to change and forbidden to"
            raise ConfigError(fixture.folder / DESCRIPTION, reason, pointer=where)


def _check_path(fixture: Fixture, path: str, where: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path or "\\" in path:
        reason = "is not a path within the repository, such as src/main.js"
        raise ConfigError(fixture.folder / DESCRIPTION, reason, pointer=where)


def _check_oracle(fixture: Fixture) -> None:
    if not fixture.oracle[0]:
        raise ConfigError(fixture.folder / DESCRIPTION, "names no program", pointer="$.oracle[0]")
    for number, word in enumerate(fixture.oracle):
        for found in _PLACEHOLDER.findall(word):
            if found not in PLACEHOLDERS:
                reason = f"{found} is unknown; there are {', '.join(PLACEHOLDERS)}"
                raise ConfigError(fixture.folder / DESCRIPTION, reason, pointer=f"$.oracle[{number}]")


def _check_session(path: Path) -> None:
    session = _session(path)
    header = session.header
    if header is None:
        raise ConfigError(path, "has no header; it is no session file of Pi's")
    if header.version != 3:
        raise ConfigError(path, f"is of format {header.version}; open it once in Pi, which writes format 3")
    if session.faults.total:
        raise ConfigError(path, str(session.faults.listed[0]))
    if not Path(header.cwd).is_absolute():
        raise ConfigError(path, "the header names no absolute cwd, the folder that the session is about")
    roles = {object_or_empty(entry.get("message")).get("role") for entry in session.branch()}
    for role in ("user", "assistant"):
        if role not in roles:
            raise ConfigError(path, f"the branch that Pi resumes has no message of the role {role}")
    if _is_waiting_for_a_tool(session.branch()):
        raise ConfigError(path, "the branch ends between a tool call and its result")


def _session(path: Path) -> Session:
    if not path.is_file():
        raise ConfigError(path, "there is no session file")
    if path.stat().st_size > MAX_SESSION_BYTES:
        raise ConfigError(path, f"is larger than {MAX_SESSION_BYTES // 2**20} MiB")
    return read_session(path, max_bytes=MAX_SESSION_BYTES)


def _is_waiting_for_a_tool(branch: Sequence[JsonObject]) -> bool:
    messages = [object_or_empty(entry.get("message")) for entry in branch if entry.get("type") == "message"]
    return bool(messages) and messages[-1].get("stopReason") == "toolUse"
