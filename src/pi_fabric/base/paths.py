"""Where things live: the home folder and Pi's agent folder, as Pi itself finds them.

Everything is computed from the environment that is passed in; nothing here touches the file system.
"""

from collections.abc import Mapping
from pathlib import Path

AGENT_DIR_VARIABLE = "PI_CODING_AGENT_DIR"


def home_dir(environ: Mapping[str, str]) -> Path:
    """The user's home: `HOME` when it is set and not empty, else the account's."""
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def expand_home(text: str, environ: Mapping[str, str]) -> Path:
    """Resolve a leading `~` or `~/`, and nothing else: `~name` is an ordinary name, as in Pi."""
    if text == "~":
        return home_dir(environ)
    if text.startswith("~/"):
        return home_dir(environ) / text[2:].lstrip("/")
    return Path(text)


def agent_dir(environ: Mapping[str, str]) -> Path:
    """Pi's agent folder: `PI_CODING_AGENT_DIR` when not empty, else `~/.pi/agent`.

    A relative value stays relative and so follows the working folder, as in Pi.
    """
    configured = environ.get(AGENT_DIR_VARIABLE)
    if configured:
        return expand_home(configured, environ)
    return home_dir(environ) / ".pi" / "agent"


def shorten_home(path: Path, environ: Mapping[str, str]) -> str:
    """Write a path for people: `~/...` when it lies in the home folder."""
    home = home_dir(environ)
    if path.is_relative_to(home) and path != home:
        return f"~/{path.relative_to(home)}"
    return str(path)
