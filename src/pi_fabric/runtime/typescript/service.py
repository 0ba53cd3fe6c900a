"""Prepare programs: check and emit at the same time, then decide."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio
from anyio.abc import TaskGroup

from pi_fabric.base.errors import SandboxError, Unavailable
from pi_fabric.base.jsonvalue import scrub
from pi_fabric.runtime.typescript.checker import CHECK_LIMIT_S, Checker
from pi_fabric.runtime.typescript.compiler import Compiler, find_compiler
from pi_fabric.runtime.typescript.emit import Emitted, Emitter
from pi_fabric.runtime.typescript.model import COMPILER_HINT, Diagnostic, Prepared, Refused
from pi_fabric.runtime.typescript.policy import MAX_PROBLEMS, early_close, judge
from pi_fabric.runtime.typescript.reported import Reported
from pi_fabric.runtime.typescript.run import CompilerFailed, CompilerMissing
from pi_fabric.runtime.typescript.sourcemap import ShiftedPositions
from pi_fabric.runtime.typescript.wrapper import wrap, wrap_for_check

MAX_PROGRAM_BYTES: Final = 2 * 1024 * 1024
"""A check of this much needs 500 MB and a second; larger payloads belong into named strings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tools:
    checker: Checker
    emitter: Emitter


class TypeScript:
    """Turns submitted programs into scripts. Calls may overlap; nothing starts before the first."""

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        cwd: Path | None = None,
        limit_s: float = CHECK_LIMIT_S,
    ) -> None:
        """Prepare to look for a compiler.

        Args:
            environ: Where `PI_FABRIC_TSC` and `PATH` are read from.
            cwd: Folder from which `node_modules` are searched upward; None for a project that is not
                trusted, since the compiler found there is run.
            limit_s: Seconds that checking and emitting one program may take each.
        """
        self._environ = environ
        self._cwd = cwd
        self._limit_s = limit_s
        self._finding = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self._tools: _Tools | None = None

    async def __aenter__(self) -> Self:
        """Be ready for calls; starts no process."""
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End every process that was started."""
        if self._tools is not None:
            # The checker bounds each step of its own end.
            with anyio.CancelScope(shield=True):
                await self._tools.checker.aclose()
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()
            # The block's own error is not the group's: handed over, it would come back inside a group.
            await self._tasks.__aexit__(None, None, None)

    async def prepare(self, code: str, declarations: str) -> Prepared | Refused:
        """Check a program and emit its script.

        Args:
            code: Program text as submitted; lone surrogates become U+FFFD.
            declarations: What `generate_declarations` returned for the catalogue in force.

        Returns:
            A refusal, or a script. Without a compiler, or when the check did not come to an end, the
            script is unchecked and `notice` says so; never raises for what the program holds.

        Raises:
            SandboxError: If the compiler that was found cannot be started any more.
        """
        text: str = scrub(code)
        size_bytes = len(text.encode())
        if size_bytes > MAX_PROGRAM_BYTES:
            return Refused(problems=(_too_large(size_bytes),))
        try:
            tools = await self._found()
        except Unavailable as missing:
            return _unchecked(text, missing.message)
        if tools is None:
            return _unchecked(text, COMPILER_HINT)
        return await _Preparation(tools, text, declarations).carry_out()

    async def _found(self) -> _Tools | None:
        async with self._finding:
            if self._tools is None:
                compiler = await find_compiler(self._environ, project=self._cwd)
                self._tools = None if compiler is None else self._use(compiler)
            return self._tools

    def _use(self, compiler: Compiler) -> _Tools:
        assert self._tasks is not None, "enter the context first"
        return _Tools(
            checker=Checker(compiler, self._tasks, limit_s=self._limit_s),
            emitter=Emitter(compiler, limit_s=self._limit_s),
        )


class _Preparation:
    """One program on its way."""

    def __init__(self, tools: _Tools, code: str, declarations: str) -> None:
        self._tools = tools
        self._code = code
        self._declarations = declarations
        self._emitted: Emitted | CompilerFailed | None = None
        self._reported: list[Reported] | CompilerFailed | None = None

    async def carry_out(self) -> Prepared | Refused:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._emit)
            tasks.start_soon(self._check)
        emitted = self._emitted
        assert emitted is not None
        if isinstance(emitted, CompilerMissing):
            raise SandboxError("typescript", str(emitted))
        if isinstance(emitted, CompilerFailed):
            return Refused(problems=(_gave_up(emitted),))
        problems = await self._problems(emitted)
        if problems:
            return Refused(problems=tuple(problems[:MAX_PROBLEMS]), omitted=len(problems[MAX_PROBLEMS:]))
        return Prepared(
            javascript=emitted.javascript,
            positions=emitted.positions,
            is_checked=not isinstance(self._reported, CompilerFailed),
            notice=_notice(self._reported) if isinstance(self._reported, CompilerFailed) else None,
        )

    async def _emit(self) -> None:
        try:
            self._emitted = await self._tools.emitter.emit(self._code)
        except CompilerFailed as failure:
            self._emitted = failure

    async def _check(self) -> None:
        try:
            self._reported = await self._tools.checker.check(wrap_for_check(self._code), self._declarations)
        except CompilerFailed as failure:
            self._reported = failure

    async def _problems(self, emitted: Emitted) -> list[Diagnostic]:
        # Without a check the parser's own errors still refuse what could not run.
        reported = self._reported if isinstance(self._reported, list) else list(emitted.syntax)
        closed_at = emitted.early_close
        if closed_at is not None and all(problem.offset >= closed_at for problem in emitted.syntax):
            # Whatever else was reported follows from this brace.
            return [early_close(closed_at, self._code)]
        return await anyio.to_thread.run_sync(judge, reported, self._code) if reported else []


def _too_large(size_bytes: int) -> Diagnostic:
    return _whole_program(
        f"the program has {size_bytes:,} bytes, at most {MAX_PROGRAM_BYTES:,} are possible; "
        "send large texts in `strings`"
    )


def _gave_up(failure: CompilerFailed) -> Diagnostic:
    return _whole_program(f"the program could not be compiled: {failure}; is it nested very deeply?")


def _whole_program(message: str) -> Diagnostic:
    return Diagnostic(line=1, column=1, code=0, message=message, is_syntax=False)


def _unchecked(code: str, reason: str) -> Prepared:
    return Prepared(
        javascript=wrap(code),
        positions=ShiftedPositions(code),
        is_checked=False,
        notice=f"The program was not type-checked.\n{reason}",
    )


def _notice(failure: CompilerFailed) -> str:
    return f"The program was not type-checked: {failure}."
