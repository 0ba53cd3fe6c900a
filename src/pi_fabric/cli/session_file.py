"""Which session file a command line means: a path, or a name under Pi's agent folder."""

import os
from collections.abc import Mapping
from pathlib import Path

from pi_fabric.base.errors import RequestError
from pi_fabric.base.paths import agent_dir, shorten_home
from pi_fabric.cli.quoted import one_line

# Enough to see which one was meant.
MAX_NAMED = 5
# A shorter start of an id would match by chance.
MIN_ID_CHARS = 4


def find_session(name: str, environ: Mapping[str, str]) -> Path:
    """Find a session file. Blocking.

    Args:
        name: A path; else the name of a file under `sessions` in the agent folder, with or without
            `.jsonl`; else the session's id or the start of it, which the name has after its last `_`.
        environ: Tells the home and agent folders.

    Raises:
        RequestError: If there is none, or more than one.
    """
    path = Path(name)
    # False also for a name that no file can have, such as one that is too long.
    if os.path.exists(path):  # noqa: PTH110
        return path
    folder = agent_dir(environ) / "sessions"
    found = _matching(name, folder)
    if len(found) == 1:
        return found[0]
    shown = one_line(name)
    where = shorten_home(folder, environ)
    if not found:
        raise RequestError("SESSION", f"no file {shown!r}, and no session of that name under {where}")
    names = "".join(f"\n  {shorten_home(one, environ)}" for one in found[:MAX_NAMED])
    more = f"\n  and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    raise RequestError("SESSION", f"{len(found)} sessions match {shown!r}; name one:{names}{more}")


def _matching(name: str, folder: Path) -> list[Path]:
    stem = name.removesuffix(".jsonl")
    files = sorted(folder.glob("**/*.jsonl"))
    exact = [file for file in files if stem in (file.stem, _id_in(file))]
    if exact or len(stem) < MIN_ID_CHARS:
        return exact
    return [file for file in files if _id_in(file).startswith(stem)]


def _id_in(file: Path) -> str:
    """Pi names a file by time and id, with a `_` between."""
    return file.stem.rpartition("_")[2]
