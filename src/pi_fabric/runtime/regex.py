"""JavaScript's regular expressions, tried on texts in a sandbox that is thrown away when in doubt.

A search is one fixed program on a worker of the engine. Pattern and texts reach it as data, never as code;
the texts in batches that it asks for, so that neither a frame nor the guest has to hold them all.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Final, TypedDict

import anyio
import msgspec

from pi_fabric.base.clock import Deadline, SystemClock
from pi_fabric.base.errors import SandboxError
from pi_fabric.base.jsonvalue import Json
from pi_fabric.protocol.regex import RegexMatches, RegexPort, RegexProblem
from pi_fabric.runtime.engine import Engine, EngineResult, GuestError, Program

# A batch costs the event loop less than a millisecond and a round trip a tenth of one.
BATCH_CHARS: Final = 256 * 1024
BATCH_TEXTS: Final = 2500
# What the engine and a pattern's backtracking may use: other engines give the latter 64 MiB as well.
BASE_MEMORY_BYTES: Final = 64 * 2**20
# A long text is joined from its pieces by doubling; a character may take four bytes in either form.
MEMORY_BYTES_PER_CHAR: Final = 16
# The first start on a machine compiles the sandbox, and the machine may be busy.
PREPARE_LIMIT_MS: Final = 60_000

_PROGRAM: Final = """async function program() {
  let pattern;
  try {
    pattern = new RegExp(π.pattern, "iu");
  } catch (error) {
    if (error instanceof SyntaxError) return { invalid: error.message };
    throw error;
  }
  const indices = [];
  let pieces = [];
  for (let index = 0; ; ) {
    const batch = await tools.call({ ref: "texts" });
    if (batch === null) return { indices };
    const { texts, isPiece } = batch;
    if (isPiece) {
      pieces.push(texts[0]);
      continue;
    }
    if (pieces.length > 0) {
      pieces.push(texts[0]);
      texts[0] = pieces.join("");
      pieces = [];
    }
    for (let i = 0; i < texts.length; i++, index++) if (pattern.test(texts[i])) indices.push(index);
  }
}"""


class SandboxRegex(RegexPort):
    """Tries patterns in the engine that runs programs; holds nothing of its own.

    Beside programs, `compose.py` gives it the engine that is open anyway: `SandboxRegex(engine)`. Searches
    then share its warm workers, and go on while programs that wait for them hold every place. Alone, as for
    `pi-fabric recall --regex`, it opens one for the purpose, which starts nothing before it is used:

        engine = await stack.enter_async_context(QuickJsEngine(spare=False))
        regex = SandboxRegex(engine)
        await regex.prepare()

    The last line is for a shell, which would otherwise begin the first start on a machine anew each time.
    """

    def __init__(self, engine: Engine) -> None:
        """Nothing is started.

        Args:
            engine: With the guest's usual library; must stay open for as long as searches are made.
        """
        self._engine = engine

    async def prepare(self) -> None:
        """Wait until a search finds a worker that has started. What fails here, the search will tell."""
        await self.search("", (), timeout_ms=PREPARE_LIMIT_MS)

    async def search(self, pattern: str, texts: Sequence[str], *, timeout_ms: int) -> RegexMatches:
        """Say which texts hold a match; see `RegexPort.search`."""
        supply = _TextSupply(texts)
        program = Program(javascript=_PROGRAM, strings={"pattern": pattern}, is_errand=True)
        memory_bytes = BASE_MEMORY_BYTES + MEMORY_BYTES_PER_CHAR * max(map(len, texts), default=0)
        # The engine's own deadline does not count the wait for a worker, this one does.
        with anyio.move_on_after(timeout_ms / 1000):
            try:
                result = await self._engine.run(
                    program, supply, deadline=Deadline(math.inf, SystemClock()), memory_bytes=memory_bytes
                )
            except SandboxError as error:
                return _problem("regex_worker_error", f"the pattern could not be tried; {error.message}")
            return _matches(result, memory_bytes)
        if not supply.is_begun:
            return _problem("regex_timeout", f"no sandbox was ready within {timeout_ms} ms; try again")
        return _problem(
            "regex_timeout",
            f"the pattern was stopped at its limit of {timeout_ms} ms; make it simpler or raise "
            "memory.regexTimeoutMs",
        )


class _Batch(TypedDict):
    """What the program gets at once."""

    texts: list[str]
    """The first one ends the pieces before it."""
    isPiece: bool
    """True when there is one text, and more of it to come."""


class _TextSupply:
    """The host of the program: whatever it calls, it gets the next batch."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._batches = _batches(texts)
        self.is_begun = False

    async def call(self, ref: str, args: Json) -> Json:
        del ref, args
        self.is_begun = True
        return next(self._batches, None)

    def notify(self, kind: str, payload: list[Json]) -> None:
        del kind, payload


class _Answer(msgspec.Struct, kw_only=True):
    """What the program returns."""

    indices: tuple[int, ...] = ()
    invalid: str | None = None


def _batches(texts: Sequence[str]) -> Iterator[_Batch]:
    batch: list[str] = []
    size_chars = 0
    for text in texts:
        if batch and (size_chars + len(text) > BATCH_CHARS or len(batch) == BATCH_TEXTS):
            yield _Batch(texts=batch, isPiece=False)
            batch, size_chars = [], 0
        start = 0
        while len(text) - start > BATCH_CHARS:
            yield _Batch(texts=[text[start : start + BATCH_CHARS]], isPiece=True)
            start += BATCH_CHARS
        batch.append(text[start:])
        size_chars += len(text) - start
    if batch:
        yield _Batch(texts=batch, isPiece=False)


def _matches(result: EngineResult, memory_bytes: int) -> RegexMatches:
    if result.error is not None:
        return _problem("regex_worker_error", _failure(result.error, memory_bytes))
    try:
        answer = msgspec.convert(result.value, _Answer)
    except msgspec.ValidationError as error:
        return _problem("regex_worker_error", f"the sandbox gave an answer of another shape: {error}")
    if answer.invalid is not None:
        reason = f"the pattern is no JavaScript regular expression with the flags iu: {answer.invalid}"
        return _problem("invalid_regex", reason)
    return RegexMatches(indices=answer.indices)


def _failure(error: GuestError, memory_bytes: int) -> str:
    # The engine's own name for it, or the matcher's when it is its backtracking that needs more.
    if error.name == "OutOfMemory" or error.message.startswith("out of memory"):
        return (
            f"the pattern needs more than the {memory_bytes // 2**20} MiB that a search may use; make it "
            "simpler or lower memory.regexMaxHaystackBytes"
        )
    return f"the pattern could not be tried; {error.name}: {error.message}"


def _problem(problem: RegexProblem, message: str) -> RegexMatches:
    return RegexMatches(problem=problem, message=message)
