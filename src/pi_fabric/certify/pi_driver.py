"""An installed Pi's own functions, and our extension beside them, driven from Python.

Nothing of Pi is imitated: sessions are made, judged and read back by the code of the package that is
installed, and what Fabric answers comes from the real extension and its sidecar.
"""

import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from pi_fabric.base.errors import FabricError, Unavailable
from pi_fabric.base.jsonvalue import Json, JsonObject, decode, encode, is_object
from pi_fabric.base.process import PIPE, child_process, inherited_environment
from pi_fabric.host.pi.program import PiProgram

# A compaction takes milliseconds, making 1,000 sessions a few seconds.
ANSWER_TIMEOUT_S: Final = 60.0
_MAX_LINE_BYTES: Final = 256 * 1024 * 1024
_WORDS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What Pi's functions are told of the window; the values make every context worth compacting."""

    context_window: int = 64
    reserve_tokens: int = 63
    keep_recent_tokens: int = 1

    def to_json(self) -> JsonObject:
        """Pi's `settings.compaction`."""
        return {
            "enabled": True,
            "reserveTokens": self.reserve_tokens,
            "keepRecentTokens": self.keep_recent_tokens,
        }


class PiDriver:
    """One process with Pi's functions; one session is open at a time."""

    def __init__(self, process: Process, environ: Mapping[str, str]) -> None:
        assert process.stdout is not None
        self._process = process
        self._answers = BufferedByteReceiveStream(process.stdout)
        self._number = 0
        self.environ = environ
        """The environment that Pi and the sidecar run in."""

    async def info(self) -> JsonObject:
        """`{version, node, exports: {NAME: {isPublic, isFound, parameters}}}`."""
        return await self._ask("info", {})

    async def open(self, cwd: Path, session_dir: Path, settings: Settings | None = None) -> JsonObject:
        """Begin a session with our extension loaded; `{file, id}`."""
        given = settings or Settings()
        return await self._ask(
            "open",
            {
                "cwd": str(cwd),
                "sessionDir": str(session_dir),
                "settings": given.to_json(),
                "contextWindow": given.context_window,
            },
        )

    async def append(self, messages: Sequence[JsonObject]) -> list[JsonObject]:
        """Append messages; for each `{id, contextIds}`, the context as Pi builds it after it."""
        return await self._ask("append", {"messages": list(messages)})

    async def compact(self, *, suffix: str = "", instructions: str | None = None) -> JsonObject:
        """Do what Pi's own session does for a compaction, and tell all of it.

        Args:
            suffix: Put behind the summary where it is stored.
            instructions: What a person wrote behind `/compact`.
        """
        return await self._ask("compact", {"suffix": suffix, "instructions": instructions})

    async def store_compaction(self, summary: str, first_kept_entry_id: str) -> str:
        """Store a compaction as somebody else might have; its id."""
        return await self._ask(
            "storeCompaction", {"summary": summary, "firstKeptEntryId": first_kept_entry_id}
        )

    async def create(
        self, cwd: Path, session_dir: Path, sessions: Sequence[Sequence[JsonObject]]
    ) -> list[JsonObject]:
        """Make many sessions; for each `{file, id, entryIds}`."""
        params = {
            "cwd": str(cwd),
            "sessionDir": str(session_dir),
            "sessions": [list(one) for one in sessions],
        }
        return await self._ask("create", params)

    async def close(self) -> None:
        """Leave the open session."""
        await self._ask("close", {})

    async def _ask(self, method: str, params: JsonObject) -> Json:
        self._number += 1
        assert self._process.stdin is not None
        try:
            with anyio.fail_after(ANSWER_TIMEOUT_S):
                await self._process.stdin.send(
                    encode({"id": self._number, "method": method, "params": params}) + b"\n"
                )
                message = await self._answer()
        except TimeoutError:
            raise DriverFailed(method, f"no answer within {ANSWER_TIMEOUT_S:.0f} s") from None
        except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead):
            raise DriverFailed(method, await self._last_words()) from None
        if "result" not in message:
            raise DriverFailed(method, str(message.get("error")))
        return message["result"]

    async def _answer(self) -> JsonObject:
        """The answer to the last question; one to an earlier question came too late and is passed over."""
        while True:
            message = decode(await self._answers.receive_until(b"\n", _MAX_LINE_BYTES))
            if not is_object(message):
                raise ValueError("Pi's driver gave an answer that is none")
            if message.get("id") == self._number:
                return message

    async def _last_words(self) -> str:
        words = b""
        with anyio.move_on_after(1.0):
            assert self._process.stderr is not None
            async for chunk in self._process.stderr:
                words = (words + chunk)[-_WORDS:]
        return words.decode("utf-8", "replace").strip() or "it ended without a word"


class DriverFailed(FabricError):
    """Pi's functions could not be driven."""

    code = "driver_failed"

    def __init__(self, method: str, reason: str) -> None:
        super().__init__(f"driving Pi failed at {method}: {reason}")


@asynccontextmanager
async def drive_pi(
    pi: PiProgram,
    node: Path,
    agent_dir: Path,
    environ: Mapping[str, str],
    *,
    extension: Path | None = None,
) -> AsyncGenerator[PiDriver]:
    """Start a process with the functions of an installed Pi.

    Args:
        pi: The package.
        node: What runs it.
        agent_dir: Pi's agent folder for the process; everything persistent is made there.
        environ: Tells where Python finds this package; home and agent folder are the process's own.
        extension: Another one than ours.

    Raises:
        Unavailable: If Node cannot be started.
    """
    loaded = extension or files("pi_fabric.host.pi") / "extension" / "index.js"
    driver = files("pi_fabric.certify") / "driver" / "pi_driver.mjs"
    variables = {
        "HOME": str(agent_dir.parent),
        "PI_CODING_AGENT_DIR": str(agent_dir),
        "PI_OFFLINE": "1",
        "PI_FABRIC_PYTHON": sys.executable,
        "PYTHONPATH": environ.get("PYTHONPATH", ""),
    }
    env = inherited_environment(variables)
    argv = [str(node), str(driver), str(pi.folder), str(loaded)]
    try:
        async with child_process(argv, cwd=agent_dir, env=env, stderr=PIPE) as process:
            yield PiDriver(process, env)
    except OSError as error:
        raise Unavailable(f"{node} cannot be started", "Node runs Pi; see `pi-fabric doctor`.") from error
