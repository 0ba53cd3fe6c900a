"""Pi's own `settings.json`: adding and removing one package without touching anything else in it."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from pi_fabric.base.errors import ConfigError, StoreError
from pi_fabric.base.files import write_atomic
from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object, stringify
from pi_fabric.config.jsonfile import read_json_object

KEY = "packages"
# Pi holds its lock for milliseconds; one older than this was left behind, as Pi's own rule says.
STALE_LOCK_S = 10.0
LOCK_WAIT_S = 5.0
POLL_S = 0.05

Change: TypeAlias = Callable[[list[Json]], list[Json]]


def packages(path: Path) -> list[Json]:
    """Entries of `packages` as they stand, strings or objects with a `source`. Blocking.

    Raises:
        ConfigError: If the file is no readable JSON object.
    """
    return _entries(path, read_json_object(path).to_rewrite())


def source_of(entry: Json, agent_dir: Path) -> Path | None:
    """The folder that a local entry names; None for npm and git sources."""
    source = entry.get("source") if is_object(entry) else entry
    if not isinstance(source, str) or source.startswith(("npm:", "git:", "http:", "https:", "ssh:")):
        return None
    return agent_dir.joinpath(Path(source).expanduser())


def change_packages(path: Path, change: Change) -> bool:
    """Replace the entries of `packages`, under Pi's own lock and in one step. Blocking.

    A missing file is made; every other key stays. Returns whether the file was written.

    Raises:
        ConfigError: If the present file cannot be read exactly; it is then left as it is.
        StoreError: If it is locked for longer than 5 seconds or cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            value = read_json_object(path).to_rewrite()
            before = _entries(path, value)
            after = change(list(before))
            if after == before:
                return False
            text = stringify(value | {KEY: after}, indent=2) + "\n"
            write_atomic(path, text.encode("utf-8", "surrogatepass"))
            return True
    except OSError as error:
        raise StoreError(path, f"cannot be written: {error.strerror or error}") from error


def _entries(path: Path, value: JsonObject) -> list[Json]:
    entries = value.get(KEY, [])
    if not is_array(entries):
        raise ConfigError(path, "is no list; mend it first, it was left as it is", pointer=KEY)
    return entries


@contextmanager
def _locked(path: Path) -> Generator[None]:
    # A folder beside the file is the lock that Pi itself takes.
    lock = path.with_name(f"{path.name}.lock")
    deadline_s = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            lock.mkdir()
            break
        except FileExistsError:
            _drop_stale(lock)
            if time.monotonic() > deadline_s:
                raise StoreError(path, f"is locked by {lock}; close Pi's settings and try again") from None
            time.sleep(POLL_S)
    try:
        yield
    finally:
        with suppress(OSError):
            lock.rmdir()


def _drop_stale(lock: Path) -> None:
    with suppress(OSError):
        if time.time() - lock.stat().st_mtime > STALE_LOCK_S:
            lock.rmdir()
