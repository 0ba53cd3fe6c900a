"""The switches of the benchmark: it costs money, so nothing runs without every one of them.

Only the credential's name leaves this module for a report; its value goes to Pi's environment and to the
scrubber.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

ENABLE: Final = "PI_FABRIC_REAL_RESUME"
PROVIDER: Final = "PI_FABRIC_BENCH_PROVIDER"
MODEL: Final = "PI_FABRIC_BENCH_MODEL"
KEY_ENV: Final = "PI_FABRIC_BENCH_KEY_ENV"
MAX_USD: Final = "PI_FABRIC_BENCH_MAX_USD"
REPEATS: Final = "PI_FABRIC_BENCH_REPEATS"
MODELS: Final = "PI_FABRIC_BENCH_MODELS"
PI_VCC: Final = "PI_VCC_EXTENSION"
PI: Final = "PI_FABRIC_PI"

DEFAULT_REPEATS: Final = 3
# A hundred repeats of two tasks in four arms are 800 sessions: more is a slip of the finger.
MAX_REPEATS: Final = 100
# As above; nobody means to spend more on one run.
MAX_BUDGET_USD: Final = 10_000.0
# A shorter one would be found in ordinary words, and blotting those out would spoil the report.
MIN_KEY_CHARS: Final = 8

# What names a variable beyond doubt; anything else might be a key put in the wrong place.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
# Ids of providers and models as Pi has them; no leading dash, which would be an option.
_ID = re.compile(r"[A-Za-z0-9@][A-Za-z0-9._:/@+-]*")
_MAX_ID_CHARS = 200


class Variable(NamedTuple):
    """One switch, for help and for the skip message."""

    name: str
    meaning: str
    example: str
    is_required: bool


VARIABLES: Final = (
    Variable(ENABLE, "1 says that this may cost money", "1", True),
    Variable(PROVIDER, "Pi's id of the provider", "anthropic", True),
    Variable(MODEL, "the provider's id of the model", "claude-sonnet-4-5", True),
    Variable(KEY_ENV, "name of the variable that holds the key", "ANTHROPIC_API_KEY", True),
    Variable(MAX_USD, "no arm is started once this was spent", "5", True),
    Variable(REPEATS, f"runs of each task in each arm; else {DEFAULT_REPEATS}", "3", False),
    Variable(PI_VCC, "file of pi-vcc; adds the arm pi-vcc", "/path/to/pi-vcc/index.ts", False),
    Variable(MODELS, "a models.json of Pi's, for a local model", "models.json", False),
    Variable(PI, "Pi's executable; else the one on PATH", "/path/to/pi", False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Everything that the environment says, found to be in order."""

    provider: str
    model: str
    key_env: str
    """Name of the credential's variable."""
    key: str = field(repr=False)
    max_usd: float
    repeats: int
    pi_vcc: Path | None = None
    models: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Nobody asked for a run."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A run was asked for, but not clearly enough to spend money on it."""

    problems: tuple[str, ...]
    """One sentence each, in the order of `VARIABLES`."""


def read_gate(environ: Mapping[str, str], cwd: Path) -> Gate | Skipped | Refused:
    """Read the switches. Blocking: looks whether the named files are there.

    Args:
        environ: The environment; an empty value is none.
        cwd: Folder that relative paths start from.
    """
    enabled = environ.get(ENABLE, "")
    if enabled != "1":
        return Skipped(reason=f"{ENABLE} is {'not 1' if enabled else 'not set'}")
    problems: list[str] = []
    gate = Gate(
        provider=_id(environ, PROVIDER, problems),
        model=_id(environ, MODEL, problems),
        key_env=environ.get(KEY_ENV, ""),
        key=_key(environ, problems),
        max_usd=_budget(environ, problems),
        repeats=_repeats(environ, problems),
        pi_vcc=_file(environ, PI_VCC, cwd, problems),
        models=_file(environ, MODELS, cwd, problems),
    )
    return Refused(problems=tuple(problems)) if problems else gate


def _id(environ: Mapping[str, str], name: str, problems: list[str]) -> str:
    value = environ.get(name, "")
    if not value:
        problems.append(f"{name} is not set")
    elif len(value) > _MAX_ID_CHARS or not _ID.fullmatch(value):
        problems.append(f"{name} is no id that Pi could know")
    return value


def _key(environ: Mapping[str, str], problems: list[str]) -> str:
    name = environ.get(KEY_ENV, "")
    value = environ.get(name, "") if name else ""
    if not name:
        problems.append(f"{KEY_ENV} is not set")
    elif not _VARIABLE.fullmatch(name):
        # Not shown: it may be the key itself.
        problems.append(f"{KEY_ENV} does not hold a variable's name (A-Z, 0-9 and _); it is not shown here")
    elif not value:
        problems.append(f"{KEY_ENV} names a variable that is not set")
    elif len(value) < MIN_KEY_CHARS:
        problems.append(
            f"{name} is shorter than {MIN_KEY_CHARS} characters, too short to keep out of reports"
        )
    return value


def _budget(environ: Mapping[str, str], problems: list[str]) -> float:
    text = environ.get(MAX_USD, "")
    if not text:
        problems.append(f"{MAX_USD} is not set")
        return 0.0
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= MAX_BUDGET_USD:
        problems.append(f"{MAX_USD} is not a number above 0 and up to {MAX_BUDGET_USD:,.0f}")
    return value


def _repeats(environ: Mapping[str, str], problems: list[str]) -> int:
    text = environ.get(REPEATS, "") or str(DEFAULT_REPEATS)
    # The length first: Python refuses to read thousands of digits.
    value = int(text) if len(text) <= 9 and text.isascii() and text.isdigit() else 0
    if not 1 <= value <= MAX_REPEATS:
        problems.append(f"{REPEATS} is not a whole number from 1 to {MAX_REPEATS}")
    return value


def _file(environ: Mapping[str, str], name: str, cwd: Path, problems: list[str]) -> Path | None:
    text = environ.get(name, "")
    if not text:
        return None
    path = cwd / text
    if not path.is_file():
        problems.append(f"{name} names no file")
    return path
