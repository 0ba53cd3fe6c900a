"""Real Pi in an isolated folder, with our extension in front of a toy engine."""

import json
import shlex
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil

from pi_fabric.base.process import DEVNULL, child_process
from pi_fabric.host.pi.install import install
from pi_fabric.host.pi.manifest import EXTENSION_DIR
from tools.pi_rpc import (
    Dialog,
    Event,
    PiSession,
    confirm_everything,
    pi_argv,
    pi_environment,
    pi_session,
    write_agent_dir,
)
from tools.scripted_model import Reply, ScriptedModel, ToolCall

HERE = Path(__file__).parent
STUB = HERE / "stub_sidecar.py"
NEIGHBOUR = HERE / "data" / "neighbour.js"
SOURCES = str(HERE.parents[2] / "src")
CORE = {"read", "bash", "edit", "write", "grep", "find", "ls"}


def stand_in(folder: Path, script: str) -> Path:
    """An executable that takes Python's place: whatever it is asked to run, it runs `script`."""
    command = folder / "stand-in"
    command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    command.chmod(0o755)
    return command


class Lab:
    """Starts Pi; `variables` and `settings` may be changed before."""

    def __init__(self, folder: Path, model: ScriptedModel, version: str) -> None:
        self.folder = folder
        self.model = model
        self.version = version
        self.project = folder / "project"
        self.project.mkdir()
        self.agent_dir = folder / "agent"
        self.log = folder / "pi.log"
        self.settings: dict[str, Any] = {}
        self.real_python = sys.executable
        self.python = stand_in(folder, f"exec {self.stub}")
        self.variables: dict[str, str] = {}

    @property
    def stub(self) -> str:
        """Shell words that start the stub sidecar."""
        return shlex.join([sys.executable, str(STUB)])

    @property
    def environment(self) -> dict[str, str]:
        ours = {"PI_FABRIC_PYTHON": str(self.python), "PYTHONPATH": SOURCES}
        # An empty value takes a variable away.
        chosen = {name: value for name, value in (ours | self.variables).items() if value}
        return pi_environment(self.agent_dir, chosen)

    @asynccontextmanager
    async def pi(
        self,
        *arguments: str,
        before: Sequence[Path] = (),
        neighbour: str | None = None,
        is_installed: bool = False,
        dialog: Dialog = confirm_everything,
    ) -> AsyncGenerator[PiSession]:
        """Pi in RPC mode.

        `before` are extensions that are loaded before ours; `neighbour` loads the test's other
        extension with these habits; `is_installed` lets Pi find ours by its settings instead of an
        argument.
        """
        write_agent_dir(self.agent_dir, self.model, **self.settings)
        extensions = [*before] if neighbour is None else [*before, NEIGHBOUR]
        if is_installed:
            await anyio.to_thread.run_sync(install, self.agent_dir)
        else:
            extensions.append(EXTENSION_DIR)
        flags = [flag for path in extensions for flag in ("-e", str(path))]
        async with pi_session(
            self.version,
            cwd=self.project,
            env=self.environment | {"NEIGHBOUR": neighbour or ""},
            arguments=[*flags, *arguments],
            stderr=self.log,
            dialog=dialog,
        ) as session:
            yield session

    async def print_mode(self, *arguments: str) -> tuple[int, str]:
        """Run Pi to its end in a mode without RPC; exit code and output. Standard error is in `log`."""
        write_agent_dir(self.agent_dir, self.model, **self.settings)
        argv = pi_argv(self.version, "-e", str(EXTENSION_DIR), *arguments)
        with anyio.fail_after(30), self.log.open("ab") as log:
            async with child_process(
                argv, cwd=self.project, env=self.environment, stdin=DEVNULL, stderr=log
            ) as process:
                assert process.stdout is not None
                output = b"".join([chunk async for chunk in process.stdout])
                return await process.wait(), output.decode()

    async def run(self, pi: PiSession, *steps: dict[str, Any]) -> Event:
        """Let the model call `fabric_exec` once and return the stored tool result."""
        self.model.say(program(*steps), Reply(text="done"))
        (result,) = tool_results(await pi.prompt("go"))
        return result

    def offered_tools(self) -> set[str]:
        """Tools that the model saw in the newest request."""
        tools: list[dict[str, Any]] = self.model.requests[-1].get("tools", [])
        return {tool["function"]["name"] for tool in tools}

    def system_prompt(self) -> str:
        """All system text of the newest request."""
        return system_text(self.model.requests[-1])

    def session_file(self) -> Path:
        """The one session file."""
        (file,) = self.agent_dir.glob("sessions/*/*.jsonl")
        return file

    def session_lines(self) -> list[dict[str, Any]]:
        """Every line of the one session file."""
        return [json.loads(line) for line in self.session_file().read_bytes().split(b"\n") if line]


def program(*steps: dict[str, Any]) -> Reply:
    """A reply in which the model runs these steps of the toy engine."""
    return Reply(calls=[ToolCall(name="fabric_exec", arguments={"code": json.dumps(steps)})])


def tool_results(events: Sequence[Event]) -> list[Event]:
    """The messages of the tool results among events."""
    ends = [event["message"] for event in events if event.get("type") == "message_end"]
    return [message for message in ends if message.get("role") == "toolResult"]


def text_of(result: Event) -> str:
    """Text of a tool result."""
    blocks: list[dict[str, Any]] = result["content"]
    return "".join(block.get("text", "") for block in blocks)


def values_of(result: Event) -> list[Any]:
    """What the steps of a program returned."""
    values: list[Any] = json.loads(text_of(result))
    return values


def notices(events: Sequence[Event]) -> list[str]:
    """Texts shown to the person."""
    return [event["message"] for event in events if event.get("method") == "notify"]


def system_text(request: dict[str, Any]) -> str:
    """All system text of a request."""
    messages: list[dict[str, Any]] = request["messages"]
    contents = [m["content"] for m in messages if m["role"] in ("system", "developer")]
    return "\n".join(c if isinstance(c, str) else "".join(b["text"] for b in c) for c in contents)


def sidecars_of(pid: int) -> list[psutil.Process]:
    """Live children of Pi."""
    return psutil.Process(pid).children()


async def wait_until(holds: Callable[[], bool]) -> None:
    """Poll a condition on other processes, which offer no event."""
    with anyio.fail_after(20):
        while not holds():  # noqa: ASYNC110
            await anyio.sleep(0.02)
