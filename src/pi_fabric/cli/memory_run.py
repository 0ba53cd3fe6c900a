"""Asking memory from a command: settings, the switch, progress, and a sandbox where a pattern needs one."""

import os
import sys
import textwrap
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from pi_fabric.base.errors import StoreError, Unavailable
from pi_fabric.base.groups import sole_exception
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.base.paths import shorten_home
from pi_fabric.base.printable import printable
from pi_fabric.cli.output import TABLE_COLUMNS, say
from pi_fabric.config import LoadedConfig, load_config
from pi_fabric.config.model import MemoryConfig
from pi_fabric.memory import Memory
from pi_fabric.memory.refresh import Progress
from pi_fabric.protocol.regex import RegexPort

T = TypeVar("T")
Question = Callable[[Memory, Progress | None], Awaitable[T]]

# Enough to see which one was meant.
MAX_NAMED: Final = 5


def open_config(cwd: Path, *, must_be_on: bool = True) -> MemoryConfig:
    """The settings of memory in force in a folder. Blocking.

    Args:
        cwd: The project's folder.
        must_be_on: False for what has to work when memory is switched off as well.

    Raises:
        Unavailable: If it is switched off and must be on.
    """
    loaded = load_config(cwd=cwd, environ=os.environ, trust=None)
    if must_be_on and not loaded.config.memory.enabled:
        raise Unavailable("Memory is switched off: memory.enabled is false", _where_to_switch_on(loaded))
    return loaded.config.memory


def ask(
    question: Question[T], *, config: MemoryConfig, is_quiet: bool = False, tries_patterns: bool = False
) -> T:
    """Open memory, ask one question and close it again.

    Args:
        question: Gets the memory, and what to tell of progress.
        config: Settings in force.
        is_quiet: True shows no progress; it is shown on a terminal only.
        tries_patterns: True opens a sandbox for regular expressions.

    Raises:
        StoreError: If the index can neither be read nor made.
        FabricError: What the question raises.
    """
    with _shown_progress(is_quiet=is_quiet) as progress:
        return anyio.run(_ask, question, config, progress, tries_patterns)


def tell_error(error: JsonObject) -> None:
    """Say why there is no answer, with the candidates where a name means several sessions."""
    candidates: list[Json] = error.get("candidates", [])
    lines = [one_paragraph(f"pi-fabric: {error.get('message') or error.get('code')}")]
    lines += [f"  {home_path(str(one))}" for one in candidates[:MAX_NAMED]]
    if len(candidates) > MAX_NAMED:
        lines.append(f"  and {len(candidates) - MAX_NAMED} more")
    say("\n".join(lines))


def one_paragraph(text: str, *, indent: int = 2) -> str:
    """A message of ours in lines of 80 columns; a word longer than that stays in one piece.

    Args:
        text: The message.
        indent: Columns before all lines but the first.
    """
    return textwrap.fill(
        printable(text),
        TABLE_COLUMNS,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def home_path(path: str) -> str:
    """A path for people, that cannot steer a terminal."""
    return printable(shorten_home(Path(path), os.environ))


async def _ask(
    question: Question[T], config: MemoryConfig, progress: Progress | None, tries_patterns: bool
) -> T:
    answer: list[T] = []
    with sole_exception():
        async with _patterns(is_needed=tries_patterns) as regex:
            # It looks up the working folder.
            memory = await anyio.to_thread.run_sync(
                partial(Memory, config=config, environ=os.environ, regex=regex)
            )
            try:
                answer.append(await question(memory, progress))
            except OSError as error:
                raise StoreError(memory.folder, f"{error.strerror or error}") from error
    return answer[0]


@asynccontextmanager
async def _patterns(*, is_needed: bool) -> AsyncGenerator[RegexPort | None]:
    if not is_needed:
        yield None
        return
    # Only a pattern pays for the sandbox.
    from pi_fabric.runtime.engines.quickjs import QuickJsEngine  # noqa: PLC0415
    from pi_fabric.runtime.regex import SandboxRegex  # noqa: PLC0415

    async with QuickJsEngine(spare=False) as engine:
        regex = SandboxRegex(engine)
        await regex.prepare()
        yield regex


def _shown_progress(*, is_quiet: bool) -> AbstractContextManager[Progress | None]:
    if is_quiet or not sys.stderr.isatty():
        return nullcontext()
    from pi_fabric.cli.index_progress import index_progress  # noqa: PLC0415 - only a person pays for rich

    return index_progress()


def _where_to_switch_on(loaded: LoadedConfig) -> str:
    file = loaded.origins["memory.enabled"].file
    return "Set it to true." if file is None else f"Set it to true in\n  {home_path(str(file))}"
