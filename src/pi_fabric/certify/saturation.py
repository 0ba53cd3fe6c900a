"""The largest summary: a source of 330 KiB that fills every section, in characters of several bytes."""

from pathlib import Path
from typing import Final

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.jsonvalue import JsonObject, encode
from pi_fabric.certify.checks import Phase
from pi_fabric.certify.messages import Clock, assistant, call, result, user
from pi_fabric.certify.pi_driver import PiDriver

SOURCE_BYTES: Final = 330 * 1024
MIN_SUMMARY_BYTES: Final = 24 * 1024
MAX_SUMMARY_BYTES: Final = 32 * 1024

CHECKS: Final = (
    "the source has about 330 KiB",
    "its summary has at least 24 KiB",
    "its summary has at most 32 KiB",
    "its summary is valid UTF-8",
)
# Most have three bytes in UTF-8 for each unit that lengths are counted in, which is the most there is; the
# others see to it that cuts fall into characters of every length.
_WORDS: Final = (
    "内存压缩会话", "検索索引再構築", "메모리기록복구", "圧縮証明検証", "größe",
    "данные", "🜁🚀", "账本双重记账", "監査証跡保存", "मेमोरीखाता",
)  # fmt: skip
INSTRUCTIONS: Final = "\n".join(f"{number}. {''.join(_WORDS)}" for number in range(20))


async def saturate(driver: PiDriver, phase: Phase, *, cwd: Path, session_dir: Path) -> None:
    """Compact the maximal source once."""
    phase.require(*CHECKS)
    await driver.open(cwd, session_dir)
    clock = Clock()
    # A goal of three lines, each beyond what a line may have.
    await driver.append([user(clock, "\n".join(_said(line, 80) for line in range(3)))])
    size = turn = 0
    while size < SOURCE_BYTES:
        messages = _turn(clock, turn)
        size += len(encode(messages))
        await driver.append(messages)
        turn += 1
    facts = await driver.compact(instructions=INSTRUCTIONS)
    phase.figures |= {"sourceBytes": size, "turns": turn}
    within = SOURCE_BYTES <= size <= SOURCE_BYTES * 1.1
    phase.see(CHECKS[0], within, f"it has {size} bytes")
    if facts["kind"] != "compaction":
        phase.problem = f"it ended as {facts['kind']}"
        return
    summary: str = facts["summary"]
    count = utf8_bytes(summary)
    phase.figures["summaryBytes"] = count
    phase.see(CHECKS[1], count >= MIN_SUMMARY_BYTES, f"it has {count} bytes")
    phase.see(CHECKS[2], count <= MAX_SUMMARY_BYTES, f"it has {count} bytes")
    phase.see(CHECKS[3], facts["isText"], "a strict decoder does not give it back")


def _turn(clock: Clock, turn: int) -> list[JsonObject]:
    """A long wish, a changed file, a failure, and a program with typed operations."""
    wish = _said(turn, 60)
    path = f"src/{'/'.join(_WORDS[(turn + step) % len(_WORDS)] for step in range(4))}/データ_{turn}.py"
    edit, run, program = f"edit-{turn}", f"run-{turn}", f"program-{turn}"
    return [
        user(clock, wish),
        assistant(clock, _said(turn + 3, 30), call(edit, "edit", path=path, edits=[])),
        result(clock, edit, "edit", "ok"),
        assistant(clock, "", call(run, "bash", command=f"make {_said(turn + 1, 8)}")),
        result(clock, run, "bash", _said(turn + 5, 40), is_error=True),
        assistant(clock, "", call(program, "fabric_exec", code=f"return {turn}")),
        result(clock, program, "fabric_exec", "done", details={"success": True, "trace": _trace(turn)}),
        assistant(clock, _said(turn + 7, 40)),
    ]


def _said(seed: int, count: int) -> str:
    words = (_WORDS[(seed * 7 + number * 5) % len(_WORDS)] for number in range(count))
    return f"{seed}: {' '.join(words)}"


def _trace(turn: int) -> JsonObject:
    operations = [
        {
            "type": "call",
            "sequence": number,
            "ref": ref,
            "provider": ref.partition(".")[0],
            "action": ref.partition(".")[2],
            "args": {"path": f"src/{_WORDS[turn % len(_WORDS)]}/{'圧縮証明' * 4}/{turn}_{number}.py"},
            "outcome": "succeeded",
        }
        for number, ref in enumerate(("pi.read", "pi.write", "pi.edit"))
    ]
    return {
        "kind": "pi-fabric.execution",
        "version": 1,
        "outcome": "succeeded",
        "phases": [f"段階 {turn}"],
        "operations": operations,
        "counts": {"droppedValues": 0, "truncatedValues": 0, "redactedValues": 0, "droppedOperations": 0},
    }
