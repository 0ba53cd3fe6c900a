"""Where Pi is in its session: in the real Pi, both versions, and on the line alone."""

import json
import os
import shlex
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from pi_fabric.base.errors import Unavailable
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.base.process import child_process
from pi_fabric.host.memory import MemoryHost
from pi_fabric.host.pi.channel import LineChannel
from pi_fabric.host.pi.live_session import PiLiveSession
from pi_fabric.host.pi.manifest import EXTENSION_DIR
from pi_fabric.host.pi.rpc import InboundCall, Listener, Method, Peer
from pi_fabric.protocol.host import LiveSession
from tests.host.pi.pi_lab import Lab, notices, stand_in, text_of
from tools import install_pi
from tools.pi_rpc import PiSession
from tools.scripted_model import Reply

HERE = Path(__file__).parent
NAVIGATOR = HERE / "data" / "tree_neighbour.js"
NO_METHODS: dict[str, Method] = {}
NO_LISTENERS: dict[str, Listener] = {}

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def open_pi(lab: Lab, *arguments: str) -> AsyncGenerator[PiSession]:
    """Pi before an engine that tells the live session, with a `/go` that navigates."""
    root = HERE.parents[2]
    words = [sys.executable, "-m", "tests.host.pi.session_sidecar"]
    lab.python = stand_in(lab.folder, f"exec {shlex.join(words)}")
    lab.variables["PYTHONPATH"] = f"{root / 'src'}:{root}"
    async with lab.pi("-e", str(NAVIGATOR), *arguments) as pi:
        yield pi


async def told(pi: PiSession) -> dict[str, Any]:
    """The live session, told without an entry more."""
    (text,) = notices(await pi.prompt("/fabric providers"))
    live: dict[str, Any] = json.loads(text.removeprefix("session  "))
    return live


async def say(lab: Lab, pi: PiSession, text: str) -> None:
    lab.model.say(Reply(text="An answer."))
    await pi.prompt(text)


async def go(pi: PiSession, to: str) -> None:
    await pi.prompt(f"/go {json.dumps({'to': to})}")


def content(file: str) -> bytes:
    """What is in a session file; nothing when Pi has not written it yet."""
    path = Path(file)
    return path.read_bytes() if path.exists() else b""


def entries(file: str) -> list[dict[str, Any]]:
    """All entries of a session file, oldest first."""
    return [json.loads(line) for line in content(file).splitlines()[1:]]


def path_to(file: str, leaf: str) -> list[str]:
    """Ids of the branch that ends at `leaf`, root first, as the file links them."""
    parents = {entry["id"]: entry["parentId"] for entry in entries(file)}
    ids: list[str] = []
    at: str | None = leaf
    while at is not None:
        ids.append(at)
        at = parents[at]
    return ids[::-1]


def ids_of(file: str, role: str) -> list[str]:
    """Ids of the messages of one role, oldest first."""
    messages = [entry for entry in entries(file) if entry["type"] == "message"]
    return [entry["id"] for entry in messages if entry["message"]["role"] == role]


@pytest.mark.pi
@pytest.mark.requirement("memory:live:navigate", "memory:live:append")
async def test_a_move_in_the_tree_is_seen_at_once_although_it_appends_nothing(lab: Lab) -> None:
    async with open_pi(lab) as pi:
        await say(lab, pi, "Mend the parser.")
        await say(lab, pi, "Try the other grammar.")
        at_end = await told(pi)
        file = at_end["file"]
        assert Path(file) == lab.session_file()
        assert at_end["leaf"] == entries(file)[-1]["id"]
        assert at_end["ids"] == path_to(file, at_end["leaf"])

        before = content(file)
        first_answer, _ = ids_of(file, "assistant")
        await go(pi, first_answer)
        moved = await told(pi)
        assert moved == {"file": file, "leaf": first_answer, "ids": path_to(file, first_answer)}
        # To what the person said Pi goes in order to say it anew: the leaf is what it followed.
        _, second_question = ids_of(file, "user")
        await go(pi, second_question)
        assert (await told(pi))["leaf"] == path_to(file, second_question)[-2]
        await go(pi, at_end["leaf"])
        assert await told(pi) == at_end
        assert content(file) == before

        await go(pi, first_answer)
        await say(lab, pi, "Back to the first one.")
        appended = await told(pi)
    assert appended["ids"] == path_to(file, entries(file)[-1]["id"])
    assert appended["ids"][: len(moved["ids"])] == moved["ids"]
    assert second_question not in appended["ids"]


@pytest.mark.pi
@pytest.mark.requirement("memory:live:append")
async def test_a_program_sees_the_message_that_called_it(lab: Lab) -> None:
    async with open_pi(lab) as pi:
        await say(lab, pi, "Hello.")
        result = await lab.run(pi, {"any": "program"})
    live = json.loads(text_of(result))
    answers = ids_of(live["file"], "assistant")
    assert live["leaf"] == answers[1]
    assert live["ids"] == path_to(live["file"], answers[1])


@pytest.mark.pi
@pytest.mark.requirement("memory:live:replaced")
async def test_a_session_that_takes_the_place_of_another_is_the_one_that_is_told(lab: Lab) -> None:
    async with open_pi(lab) as pi:
        await say(lab, pi, "The old session.")
        old = await told(pi)
        await pi.command("new_session")
        fresh = await told(pi)
        assert fresh["file"] != old["file"]
        assert content(fresh["file"]) == b""
        await say(lab, pi, "The new session.")
        new = await told(pi)
        assert new["ids"] == path_to(new["file"], new["leaf"])
        assert new["file"] == fresh["file"]
        assert not set(new["ids"]) & set(old["ids"])

        await pi.command("switch_session", sessionPath=old["file"])
        again = await told(pi)
        # Pi may note on opening which model it goes on with.
        assert again["file"] == old["file"]
        assert again["ids"][: len(old["ids"])] == old["ids"]

        await say(lab, pi, "To be forked before.")
        (*_, last_question) = ids_of(old["file"], "user")
        await pi.command("fork", entryId=last_question)
        forked = await told(pi)
    assert forked["file"] not in (old["file"], new["file"])
    assert set(old["ids"]) <= set(forked["ids"])
    assert last_question not in forked["ids"]


@pytest.mark.pi
@pytest.mark.requirement("memory:live:unpersisted")
async def test_a_session_in_memory_has_a_branch_and_no_file(lab: Lab) -> None:
    async with open_pi(lab, "--no-session") as pi:
        await say(lab, pi, "Hello.")
        live = await told(pi)
        held = (await pi.command("get_entries"))["data"]
    assert live == {"file": None, "leaf": held["leafId"], "ids": [entry["id"] for entry in held["entries"]]}


@asynccontextmanager
async def in_place_of_pi(answer: Method) -> AsyncGenerator[Peer]:
    """A line whose other end answers `host.session` like this."""
    near_in, far_out = os.pipe()
    far_in, near_out = os.pipe()
    near = Peer(LineChannel(near_in, near_out))
    far = Peer(LineChannel(far_in, far_out))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(near.run, NO_METHODS, NO_LISTENERS)
            tasks.start_soon(far.run, {"host.session": answer}, NO_LISTENERS)
            yield near
            tasks.cancel_scope.cancel()
    for fd in (near_in, far_out, far_in, near_out):
        os.close(fd)


def answering(value: Json) -> Method:
    async def answer(_params: JsonObject, _call: InboundCall) -> Json:
        return value

    return Method(handler=answer)


@pytest.mark.requirement("memory:live:bad-answer")
@pytest.mark.parametrize(
    "value",
    [
        "a text",
        [],
        {},
        {"file": None, "leafId": None},
        {"file": 7, "leafId": None, "ids": []},
        {"file": None, "leafId": None, "ids": {"0": "a"}},
    ],
)
async def test_an_answer_of_another_shape_is_no_session_and_says_what_to_do(value: Json) -> None:
    async with in_place_of_pi(answering(value)) as peer:
        with pytest.raises(Unavailable, match="tells of no session") as caught:
            await PiLiveSession(peer).current()
    assert "pi-fabric pi install" in caught.value.hint


@pytest.mark.requirement("memory:live:late")
async def test_an_answer_that_does_not_come_in_time_is_given_up_at_both_ends() -> None:
    is_cancelled = anyio.Event()

    async def never(_params: JsonObject, call: InboundCall) -> Json:
        try:
            await anyio.sleep_forever()
        finally:
            is_cancelled.set()

    async with in_place_of_pi(Method(handler=never)) as peer:
        with pytest.raises(Unavailable, match=r"within 0\.05 s") as caught:
            await PiLiveSession(peer, answer_s=0.05).current()
        await is_cancelled.wait()
    assert "try again" in caught.value.hint


@pytest.mark.requirement("memory:live:late")
async def test_a_line_that_is_closed_is_told_at_once() -> None:
    async with in_place_of_pi(answering(None)) as peer:
        pass
    with pytest.raises(Unavailable, match="closed the line") as caught:
        await PiLiveSession(peer).current()
    assert "/fabric status" in caught.value.hint


@asynccontextmanager
async def extension_end(kind: str) -> AsyncGenerator[PiLiveSession]:
    """The port before the extension's own code in Node, without Pi around it."""
    near_in, far_out = os.pipe()
    far_in, near_out = os.pipe()
    script = HERE / "data" / "session_peer.mjs"
    argv = [str(install_pi.node()), str(script), EXTENSION_DIR.as_uri(), kind]
    with os.fdopen(far_in, "rb") as stdin, os.fdopen(far_out, "wb") as stdout:
        peer = Peer(LineChannel(near_in, near_out))
        with anyio.fail_after(20):
            async with child_process(argv, stdin=stdin, stdout=stdout), anyio.create_task_group() as tasks:
                tasks.start_soon(peer.run, NO_METHODS, NO_LISTENERS)
                yield PiLiveSession(peer)
                tasks.cancel_scope.cancel()
    os.close(near_in)
    os.close(near_out)


@pytest.mark.requirement("memory:live:replaced")
async def test_a_context_that_pi_has_replaced_is_an_error_of_that_question_alone() -> None:
    async with extension_end("replaced") as port:
        with pytest.raises(Unavailable, match="stale after session replacement"):
            await port.current()
        assert await port.current() == LiveSession(file=None, branch_ids=("a",), leaf_id="a")


@pytest.mark.requirement("memory:live:none")
async def test_between_two_sessions_there_is_none() -> None:
    async with extension_end("none") as port:
        assert await port.current() is None


@pytest.mark.requirement("memory:live:ids")
async def test_ids_that_are_not_strings_are_left_out() -> None:
    async with extension_end("odd") as port:
        assert await port.current() == LiveSession(file=None, branch_ids=("a", "b"), leaf_id=None)
    async with extension_end("empty") as port:
        assert await port.current() == LiveSession(file=None, branch_ids=(), leaf_id=None)


@pytest.mark.requirement("memory:live:long")
async def test_a_branch_of_fifty_thousand_entries_arrives_whole() -> None:
    async with extension_end("long") as port:
        live = await port.current()
    assert live is not None
    assert len(set(live.branch_ids)) == 50_000


@pytest.mark.requirement("memory:live:fake")
async def test_a_host_in_memory_tells_the_session_that_it_was_given_last() -> None:
    host = MemoryHost()
    port = host.ports.session
    assert port is not None
    assert await port.current() is None
    for leaf in ("b", "a"):
        host.session = LiveSession(file=None, branch_ids=("a",), leaf_id=leaf)
        assert await port.current() is host.session
