"""Patterns tried in the sandbox: what they mean, what ends them, and what is left afterwards."""

import os
import signal
import subprocess  # noqa: TID251 - what an import brings shows only in a process of its own
import sys
from collections.abc import AsyncGenerator, Sequence

import anyio
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_fabric.base.clock import Deadline, SystemClock
from pi_fabric.base.jsonvalue import Json
from pi_fabric.protocol.regex import RegexMatches
from pi_fabric.runtime.engine import EngineResult, GuestHost, Program
from pi_fabric.runtime.engines.quickjs import QuickJsEngine
from pi_fabric.runtime.engines.quickjs.child import BOOTSTRAP
from pi_fabric.runtime.engines.quickjs.pool import MAX_WORKERS
from pi_fabric.runtime.regex import BATCH_CHARS, BATCH_TEXTS, SandboxRegex

pytestmark = pytest.mark.anyio

# Longer than any of these searches takes; a hang ends as a failure of the test.
AMPLE_MS = 30_000
HOSTILE = [("(x|x)*y", "x" * 30), ("(a+)+$", "a" * 32 + "!"), ("(a+)+b", "a" * 32), ("(.*)*\\1z", "ab" * 40)]


def workers() -> set[int]:
    """Process ids of the workers that this process started and that still run."""
    return {child.pid for child in psutil.Process().children() if _is_worker(child)}


def _is_worker(child: psutil.Process) -> bool:
    try:
        # A process of Python's own, such as its resource tracker, may run as well.
        return child.status() != psutil.STATUS_ZOMBIE and BOOTSTRAP in child.cmdline()
    except psutil.NoSuchProcess:
        return False


async def wait_gone(pids: set[int]) -> None:
    """Return when none of them runs any more."""
    with anyio.fail_after(20):
        while workers() & pids:  # noqa: ASYNC110 - the pool keeps its workers to itself
            await anyio.sleep(0.01)


@pytest.fixture
async def engine(anyio_backend: str) -> AsyncGenerator[QuickJsEngine]:
    """An engine without a spare worker: each test starts one process."""
    assert anyio_backend == "asyncio"
    async with QuickJsEngine(spare=False) as engine:
        yield engine


@pytest.fixture
async def regex(engine: QuickJsEngine) -> SandboxRegex:
    """What is tested, with a worker that has started."""
    regex = SandboxRegex(engine)
    await regex.prepare()
    return regex


async def search(regex: SandboxRegex, pattern: str, *texts: str) -> RegexMatches:
    """A search that has all the time it needs."""
    return await regex.search(pattern, texts, timeout_ms=AMPLE_MS)


@pytest.mark.requirement("memory:regex:grammar")
@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("", ["", "a"], []),
        ("needle", ["a NEEDLE b"], ["needl e", ""]),
        ("^.$", ["a", "\0", "😀", "漢"], ["", "aa", "\n", "\u2028", "😀😀"]),
        ("^b", ["b"], ["a\nb", "a\u2028b", "\0b"]),
        ("a$", ["a"], ["a\nb", "a\n"]),
        ("^[^]{3}$", ["a\nb", "a\u2028b", "a\0b", "\u2029\r\n"], ["a\r\nb"]),
        (r"\0", ["a\0b"], ["ab", "0"]),
        (r"\p{Script=Han}", ["漢", "kanji 字"], ["かな", "Han"]),
        (r"^\p{Lu}$", ["A", "a", "É", "é"], ["1", "漢"]),
        (r"^\u{1F600}$", ["😀"], ["😁", "u{1F600}"]),
        ("^[😀-😂]$", ["😁"], ["😄", "\ufffd"]),
        ("^.{2500} tail", ["😀" * 2500 + " tail"], ["😀" * 2499 + " tail", "😀" * 1250 + " tail"]),
        ("^\ud800$", ["\udfff", "\ufffd", "\ud800"], ["", "?"]),
        ("^\ufffd{2}$", ["\ud83d\ude00"], ["😀"]),
        (r"(?<=\$)\d+(?!\.)", ["$42"], ["42", "€42"]),
        (r"(?<year>\d{4})-\k<year>", ["2024-2024"], ["2024-2025"]),
        (r"^(a)|b\1$", ["a", "b"], ["c"]),
        (r"`\$\{x\}\\`", ["`${x}\\`"], ["x"]),
        ("'\"\\]\\)\\}", ["'\"])}"], ["'"]),
    ],
)
async def test_a_pattern_means_what_it_means_in_javascript(
    regex: SandboxRegex, pattern: str, matching: list[str], others: list[str]
) -> None:
    found = await search(regex, pattern, *matching, *others)
    assert found == RegexMatches(indices=tuple(range(len(matching))))


@pytest.mark.requirement("memory:regex:folding")
@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("^É$", ["é", "É"], ["e", "E\u0301"]),
        ("^straße$", ["STRAẞE"], ["STRASSE"]),
        ("^s$", ["S", "\u017f"], ["ß"]),
        ("^k$", ["K", "\u212a"], ["ĸ"]),
        ("^i$", ["I"], ["\u0130", "\u0131"]),
        ("^\u03c3$", ["Σ", "ς"], ["s"]),
        ("^𐐀$", ["𐐨"], ["𐐩"]),
        (r"^\w$", ["\u017f", "\u212a", "_"], ["é"]),
    ],
)
async def test_case_is_folded_by_the_simple_rules_of_unicode(
    regex: SandboxRegex, pattern: str, matching: list[str], others: list[str]
) -> None:
    found = await search(regex, pattern, *matching, *others)
    assert found == RegexMatches(indices=tuple(range(len(matching))))


# Of no letter another one is a case but its own: not i, k, s, whose other cases Python sees otherwise.
PLAIN = st.text(alphabet="abzABZ019 \n\0\u2028\"'漢字😀", max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(literal=PLAIN, texts=st.lists(PLAIN, max_size=12))
async def test_a_literal_is_found_where_python_finds_it(
    regex: SandboxRegex, literal: str, texts: list[str]
) -> None:
    texts = [*texts, *(text + literal.swapcase() for text in texts)]
    expected = tuple(i for i, text in enumerate(texts) if literal.lower() in text.lower())
    assert await search(regex, literal, *texts) == RegexMatches(indices=expected)


@pytest.mark.requirement("memory:regex:invalid")
@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(unclosed", "expecting ')'"),
        (r"\-", "invalid escape sequence in regular expression"),
        ("a{2,1}", "invalid repetition count"),
        ("[z-a]", "invalid class range"),
        ("*", "nothing to repeat"),
        (r"\p{Script=Nope}", "unknown unicode script"),
        ("{", "syntax error"),
        ("(?:" * 20_000 + ")" * 20_000, "stack overflow"),
    ],
)
async def test_a_pattern_that_is_none_is_named_in_one_sentence(
    regex: SandboxRegex, pattern: str, reason: str
) -> None:
    message = f"the pattern is no JavaScript regular expression with the flags iu: {reason}"
    assert await search(regex, pattern, "a") == RegexMatches(problem="invalid_regex", message=message)


async def test_a_pattern_that_is_none_is_named_without_texts_as_well(regex: SandboxRegex) -> None:
    assert (await search(regex, "(")).problem == "invalid_regex"
    assert await search(regex, "a") == RegexMatches()


async def test_a_pattern_is_data_and_never_code(regex: SandboxRegex) -> None:
    pattern = "x`; } catch {} throw new Error(`"
    assert (await search(regex, pattern, "x")).problem == "invalid_regex"
    assert await search(regex, r'"\];throw 1//', '"];throw 1//') == RegexMatches(indices=(0,))


@pytest.mark.requirement("memory:regex:timeout")
@pytest.mark.parametrize(("pattern", "text"), HOSTILE)
async def test_a_pattern_that_runs_away_is_ended_with_its_worker_while_the_loop_goes_on(
    regex: SandboxRegex, pattern: str, text: str
) -> None:
    hostile = workers()
    found = RegexMatches()
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as group:
        group.start_soon(count_turns)
        found = await regex.search(pattern, ["before", text], timeout_ms=100)
        group.cancel_scope.cancel()
    assert found.problem == "regex_timeout"
    assert found.indices == ()
    assert found.message == (
        "the pattern was stopped at its limit of 100 ms; make it simpler or raise memory.regexTimeoutMs"
    )
    # A loop that waits for the pattern turns a handful of times.
    assert turns > 100
    await wait_gone(hostile)
    assert await search(regex, pattern[-1], "b!$yz") == RegexMatches(indices=(0,))


@pytest.mark.requirement("memory:regex:timeout")
async def test_a_hostile_pattern_that_matches_before_it_backtracks_is_an_answer(regex: SandboxRegex) -> None:
    assert await search(regex, "(a+)+$", "a" * 32) == RegexMatches(indices=(0,))


@pytest.mark.requirement("memory:regex:start-counts")
async def test_the_start_of_a_worker_counts_and_is_not_lost_when_it_takes_too_long(
    engine: QuickJsEngine,
) -> None:
    before = workers()
    regex = SandboxRegex(engine)
    found = await regex.search("a", ["a"], timeout_ms=1)
    assert found == RegexMatches(
        problem="regex_timeout", message="no sandbox was ready within 1 ms; try again"
    )
    with anyio.fail_after(20):
        while not (started := workers() - before):  # noqa: ASYNC110 - see above
            await anyio.sleep(0.01)
    assert await search(regex, "a", "a") == RegexMatches(indices=(0,))
    assert workers() - before == started


@pytest.mark.requirement("memory:regex:cancel")
async def test_a_cancelled_search_ends_its_worker(regex: SandboxRegex) -> None:
    hostile = workers()
    pattern, text = HOSTILE[0]
    async with anyio.create_task_group() as group:
        group.start_soon(search, regex, pattern, text)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    await wait_gone(hostile)
    assert await search(regex, "x", text) == RegexMatches(indices=(0,))


@pytest.mark.requirement("memory:regex:worker")
async def test_a_worker_that_is_killed_is_a_problem_of_the_worker(engine: QuickJsEngine) -> None:
    before = workers()
    regex = SandboxRegex(engine)
    await regex.prepare()
    mine = workers() - before
    found: list[RegexMatches] = []

    async def run() -> None:
        found.append(await search(regex, *HOSTILE[0]))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        for pid in mine:
            os.kill(pid, signal.SIGKILL)
    assert [match.problem for match in found] == ["regex_worker_error"]
    assert found[0].message == (
        "the pattern could not be tried; "
        "the sandbox failed (worker): it was lost while a program ran: it was killed by signal 9"
    )
    assert await search(regex, "x", "x") == RegexMatches(indices=(0,))


@pytest.mark.requirement("memory:regex:memory")
async def test_a_pattern_that_needs_too_much_memory_says_what_to_lower(regex: SandboxRegex) -> None:
    found = await search(regex, "(a|b)*c", "ab" * 2**19)
    assert found == RegexMatches(
        problem="regex_worker_error",
        message="the pattern needs more than the 80 MiB that a search may use; make it simpler or lower "
        "memory.regexMaxHaystackBytes",
    )
    assert await search(regex, "x", "x") == RegexMatches(indices=(0,))


@pytest.mark.requirement("memory:regex:size")
@pytest.mark.parametrize("letter", ["a", "é", "漢", "😀"])
async def test_a_text_of_many_pieces_is_one_text(regex: SandboxRegex, letter: str) -> None:
    longer = letter * (3 * BATCH_CHARS) + "end"
    exact = letter * (2 * BATCH_CHARS)
    texts = ["end", longer, exact, "start", longer, exact + "😀", ""]
    assert await search(regex, f"^{letter}+end$", *texts) == RegexMatches(indices=(1, 4))
    assert await search(regex, f"^{letter}+$", *texts) == RegexMatches(
        indices=(2, 5) if letter == "😀" else (2,)
    )
    assert await search(regex, "^$|^end|^start", *texts) == RegexMatches(indices=(0, 3, 6))


@pytest.mark.requirement("memory:regex:size")
@pytest.mark.parametrize("count", [1, BATCH_TEXTS - 1, BATCH_TEXTS, BATCH_TEXTS + 1, 8 * BATCH_TEXTS])
async def test_indices_count_through_all_texts(regex: SandboxRegex, count: int) -> None:
    texts = [f"text {number} of many" for number in range(count)]
    expected = tuple(number for number in range(count) if number % 10 == 7)
    assert await search(regex, r"^TEXT \d*7 ", *texts) == RegexMatches(indices=expected)


@pytest.mark.requirement("memory:regex:places")
async def test_a_search_needs_no_place_among_the_programs_that_may_wait_for_it(engine: QuickJsEngine) -> None:
    class Host:
        """Lets every program search, all at the same time."""

        def __init__(self) -> None:
            self.waiting = 0
            self.all_wait = anyio.Event()

        async def call(self, ref: str, args: Json) -> Json:
            del ref, args
            self.waiting += 1
            if self.waiting == MAX_WORKERS:
                self.all_wait.set()
            await self.all_wait.wait()
            return list((await search(SandboxRegex(engine), "b", "a", "b")).indices)

        def notify(self, kind: str, payload: list[Json]) -> None: ...

    host: GuestHost = Host()
    results: list[EngineResult] = []

    async def run() -> None:
        program = Program(javascript="async function program() { return await tools.call({ ref: 'x' }) }")
        deadline = Deadline(AMPLE_MS / 1000, SystemClock())
        results.append(await engine.run(program, host, deadline=deadline, memory_bytes=2**26))

    with anyio.fail_after(AMPLE_MS / 1000):
        async with anyio.create_task_group() as group:
            for _ in range(MAX_WORKERS):
                group.start_soon(run)
    assert [result.value for result in results] == [[1]] * MAX_WORKERS


async def test_concurrent_searches_are_not_mixed_up(regex: SandboxRegex) -> None:
    found: dict[int, Sequence[int]] = {}

    async def run(number: int) -> None:
        found[number] = (await search(regex, f"^{number}$", *map(str, range(6)))).indices

    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(run, number)
    assert found == {number: (number,) for number in range(6)}


@pytest.mark.requirement("memory:regex:worker")
async def test_a_sandbox_that_cannot_start_is_a_problem_of_the_worker(
    monkeypatch: pytest.MonkeyPatch, engine: QuickJsEngine
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    found = await search(SandboxRegex(engine), "a", "a")
    assert found.problem == "regex_worker_error"
    assert "the sandbox failed (start): no process can be started: " in found.message


@pytest.mark.requirement("memory:regex:lazy")
async def test_nothing_is_started_before_the_first_search(engine: QuickJsEngine) -> None:
    before = workers()
    SandboxRegex(engine)
    assert workers() == before


@pytest.mark.requirement("memory:regex:lazy")
def test_naming_it_loads_no_sandbox() -> None:
    code = "import sys; import pi_fabric.runtime.regex; print('wasmtime' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
