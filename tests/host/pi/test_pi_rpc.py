"""JSON-RPC on a pair of pipes, both ends ours."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import anyio
import pytest

from pi_fabric.base.errors import HostError, InvalidArguments, Unavailable
from pi_fabric.base.jsonvalue import Json, JsonObject, decode
from pi_fabric.host.pi import channel
from pi_fabric.host.pi.channel import LineChannel
from pi_fabric.host.pi.rpc import (
    CANCELLED,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    InboundCall,
    Listener,
    Method,
    Peer,
)

pytestmark = pytest.mark.anyio

NOTHING: JsonObject = {}
NO_METHODS: dict[str, Method] = {}
NO_LISTENERS: dict[str, Listener] = {}


class Wires:
    """Two peers, and the raw descriptor that the second reads from."""

    def __init__(self) -> None:
        near_in, far_out = os.pipe()
        far_in, near_out = os.pipe()
        self.fds = [near_in, far_out, far_in, near_out]
        self.near = Peer(LineChannel(near_in, near_out))
        self.far = Peer(LineChannel(far_in, far_out))
        self.to_far = near_out

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)


@asynccontextmanager
async def wires(
    methods: Mapping[str, Method], listeners: Mapping[str, list[JsonObject]] | None = None
) -> AsyncGenerator[Wires]:
    pair = Wires()
    heard = {name: seen.append for name, seen in (listeners or {}).items()}
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pair.near.run, NO_METHODS, NO_LISTENERS)
            tasks.start_soon(pair.far.run, methods, heard)
            yield pair
            tasks.cancel_scope.cancel()
    pair.close()


async def echo(params: JsonObject, _call: InboundCall) -> Json:
    return params


async def refuse(_params: JsonObject, _call: InboundCall) -> Json:
    raise InvalidArguments("refuse", ["`a` is missing"])


async def lack(_params: JsonObject, _call: InboundCall) -> Json:
    async with anyio.create_task_group():
        raise Unavailable("nothing there", "get it")


async def fail(_params: JsonObject, _call: InboundCall) -> Json:
    raise ZeroDivisionError("by zero")


@pytest.mark.requirement("pi:line:both-ways")
async def test_many_requests_are_answered_each_with_its_own_result() -> None:
    async with wires({"echo": Method(handler=echo)}) as pair:
        answers: dict[int, Json] = {}

        async def ask(number: int) -> None:
            answers[number] = await pair.near.request("echo", {"n": number})

        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(ask, number)
    assert answers == {number: {"n": number} for number in range(100)}


@pytest.mark.parametrize(
    ("method", "code", "text"),
    [
        ("refuse", INVALID_PARAMS, "refuse: `a` is missing"),
        ("lack", -32000, "nothing there. get it"),
        ("fail", -32603, "Fabric failed inside: ZeroDivisionError: by zero"),
        ("nothing", METHOD_NOT_FOUND, "unknown method nothing"),
    ],
)
async def test_an_exception_becomes_an_error_and_the_line_goes_on(method: str, code: int, text: str) -> None:
    methods = {"refuse": refuse, "lack": lack, "fail": fail, "echo": echo}
    async with wires({name: Method(handler=handler) for name, handler in methods.items()}) as pair:
        with pytest.raises(HostError) as caught:
            await pair.near.request(method, {})
        assert await pair.near.request("echo", {"still": "here"}) == {"still": "here"}
    assert (caught.value.rpc_code, caught.value.reason) == (code, text)


@pytest.mark.requirement("pi:line:cancel")
async def test_a_cancelled_caller_cancels_the_work_on_the_other_side() -> None:
    ended = anyio.Event()
    started = anyio.Event()

    async def wait(_params: JsonObject, _call: InboundCall) -> Json:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with wires({"wait": Method(handler=wait)}) as pair:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pair.near.request, "wait", NOTHING)
            await started.wait()
            tasks.cancel_scope.cancel()
        await ended.wait()


async def test_a_graceful_method_may_still_answer_after_a_cancellation() -> None:
    async def wait(_params: JsonObject, call: InboundCall) -> Json:
        await call.cancelled.wait()
        return "sealed"

    # Both lines in one write: the cancellation arrives before the handler has begun.
    answer = await answer_to(
        Method(handler=wait, cancel_grace_s=60),
        b'{"jsonrpc":"2.0","id":1,"method":"it"}\n{"jsonrpc":"2.0","method":"$/cancel","params":{"id":1}}\n',
    )
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": "sealed"}


async def test_a_method_that_ignores_the_cancellation_is_ended_after_its_grace() -> None:
    async def ignore(_params: JsonObject, _call: InboundCall) -> Json:
        await anyio.sleep_forever()

    answer = await answer_to(
        Method(handler=ignore, cancel_grace_s=0.01),
        b'{"jsonrpc":"2.0","id":"x","method":"it"}\n{"jsonrpc":"2.0","method":"$/cancel","params":{"id":"x"}}\n',
    )
    assert answer["id"] == "x"
    assert answer["error"]["code"] == CANCELLED


async def answer_to(method: Method, lines: bytes) -> JsonObject:
    """What a peer that serves `it` writes when it reads these bytes."""
    to_peer, from_test = os.pipe()
    to_test, from_peer = os.pipe()
    os.write(from_test, lines)
    answers = LineChannel(to_test, from_test).lines()
    answer: JsonObject = {}
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Peer(LineChannel(to_peer, from_peer)).run, {"it": method}, NO_LISTENERS)
            answer = decode(await anext(answers))
            await answers.aclose()
            tasks.cancel_scope.cancel()
    for fd in (to_peer, from_test, to_test, from_peer):
        os.close(fd)
    return answer


@pytest.mark.requirement("pi:line:strays")
async def test_lines_that_are_no_messages_are_counted_and_skipped() -> None:
    heard: list[JsonObject] = []
    async with wires({"echo": Method(handler=echo)}, {"note": heard}) as pair:
        os.write(pair.to_far, b'garbage\n[1]\n{"id": 3}\n\n"text"\n{"jsonrpc":"2.0","id":77,"result":1}\n')
        await pair.near.notify("note", {"text": "a\u2028b\ud800"})
        assert await pair.near.request("echo", {"a": 1}) == {"a": 1}
        assert pair.far.strays == 4
    assert heard == [{"text": "a\u2028b\ufffd"}]


async def test_the_end_of_the_line_ends_what_waits_and_what_is_served() -> None:
    ended = anyio.Event()

    async def wait(_params: JsonObject, _call: InboundCall) -> Json:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    read_fd, write_fd = os.pipe()
    back_in, back_out = os.pipe()
    peer = Peer(LineChannel(read_fd, back_out))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.run, {"wait": Method(handler=wait)}, NO_LISTENERS)
            os.write(write_fd, b'{"jsonrpc":"2.0","id":1,"method":"wait"}\n')
            tasks.start_soon(_close_soon, write_fd)
            with pytest.raises(HostError, match="closed the line"):
                await peer.request("host.tool", {})
    assert ended.is_set()
    with pytest.raises(HostError, match="closed the line"):
        await peer.request("host.tool", {})
    for fd in (read_fd, back_in, back_out):
        os.close(fd)


async def _close_soon(fd: int) -> None:
    os.close(fd)


@pytest.mark.requirement("pi:line:too-deep")
async def test_a_request_that_nests_too_deeply_is_refused_and_the_line_goes_on() -> None:
    deep = b"[" * 5000 + b"]" * 5000
    answer = await answer_to(
        Method(handler=echo), b'{"jsonrpc":"2.0","id":7,"method":"it","params":{"x":' + deep + b"}}\n"
    )
    assert answer["id"] == 7
    assert "nests too deeply" in answer["error"]["message"]


@pytest.mark.requirement("pi:line:stuck")
async def test_a_line_that_takes_nothing_any_more_ends_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "SEND_TIMEOUT_S", 0.1)
    read_fd, write_fd = os.pipe()
    back_in, back_out = os.pipe()
    peer = Peer(LineChannel(read_fd, back_out))
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.notify, "note", {"text": "x" * 1_000_000})
            await peer.run(NO_METHODS, NO_LISTENERS)
    with pytest.raises(HostError, match="closed the line"):
        await peer.request("host.tool", {})
    for fd in (read_fd, write_fd, back_in, back_out):
        os.close(fd)
