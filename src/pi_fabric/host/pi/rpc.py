"""JSON-RPC 2.0 with requests, notifications and `$/cancel` in both directions.

One handler table, one place where an exception becomes an answer. A line that is no message is counted
and never fatal; the end of the line ends everything that is being served.
"""

import re
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup

from pi_fabric.base.errors import FabricError, HostError, RequestError
from pi_fabric.base.groups import lone
from pi_fabric.base.jsonvalue import Json, JsonObject, decode, encode, is_object
from pi_fabric.host.pi.channel import LineChannel

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REFUSED = -32000
CANCELLED = -32800
# More at once is a loop on the other side; 100 programs at once are within what is promised.
MAX_CALLS = 512
# How the extension begins each frame that wants an answer or is one.
_HEAD = re.compile(rb'\{"jsonrpc":"2\.0","id":([0-9]{1,15}),"(method|result|error)":')
# Stray lines that are shown on stderr; the rest is only counted.
SHOWN_STRAYS = 5


@dataclass(eq=False, slots=True, kw_only=True)
class InboundCall:
    """One request being served."""

    cancelled: anyio.Event = field(default_factory=anyio.Event)
    """Set when the caller has cancelled."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


Handler: TypeAlias = Callable[[JsonObject, InboundCall], Awaitable[Json]]
Listener: TypeAlias = Callable[[JsonObject], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How one method is served."""

    handler: Handler
    cancel_grace_s: float = 0
    """How long the handler may go on after `cancelled` is set, to answer by itself."""


@dataclass(eq=False, slots=True)
class _Waiting:
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: JsonObject = field(default_factory=dict[str, Json])


class Peer:
    """One end of the line; `run` must be running for `request` to be answered."""

    def __init__(self, channel: LineChannel) -> None:
        self._channel = channel
        self._next_id = 0
        self._waiting: dict[int, _Waiting] = {}
        self._serving: dict[Json, tuple[InboundCall, Method]] = {}
        self._is_closed = False
        self._scope: anyio.CancelScope | None = None
        self._strays = 0

    @property
    def strays(self) -> int:
        """Lines so far that were no message, too long ones included."""
        return self._strays + self._channel.dropped

    async def run(self, methods: Mapping[str, Method], listeners: Mapping[str, Listener]) -> None:
        """Serve until the line ends at either side; then cancel what is still being served."""
        try:
            async with anyio.create_task_group() as tasks:
                self._scope = tasks.cancel_scope
                async for line in self._channel.lines():
                    self._receive(line, methods, listeners, tasks)
                tasks.cancel_scope.cancel()
        finally:
            self._is_closed = True
            for waiting in self._waiting.values():
                waiting.done.set()

    async def request(self, method: str, params: JsonObject) -> Json:
        """Ask the peer; a cancelled caller cancels the request on the other side too.

        Raises:
            HostError: If the peer answered with an error or is gone.
        """
        if self._is_closed:
            raise HostError(INTERNAL_ERROR, "Pi has closed the line")
        self._next_id += 1
        number, waiting = self._next_id, _Waiting()
        self._waiting[number] = waiting
        try:
            await self._send({"id": number, "method": method, "params": params})
            await waiting.done.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.notify("$/cancel", {"id": number})
            raise
        finally:
            self._waiting.pop(number, None)
        return _result_of(waiting.answer)

    async def notify(self, method: str, params: JsonObject) -> None:
        """Tell the peer something; a peer that is gone is no error."""
        if not self._is_closed:
            await self._send({"method": method, "params": params})

    async def _send(self, message: JsonObject) -> None:
        try:
            await self._channel.send(encode({"jsonrpc": "2.0"} | message))
        except anyio.BrokenResourceError:
            # Half a frame may be out, so nothing can follow it.
            self._is_closed = True
            if self._scope is not None:
                self._scope.cancel()
            if "id" in message and "method" in message:
                raise HostError(INTERNAL_ERROR, "Pi has closed the line") from None

    def _receive(
        self,
        line: bytes,
        methods: Mapping[str, Method],
        listeners: Mapping[str, Listener],
        tasks: TaskGroup,
    ) -> None:
        message = _message_in(line)
        if message is None:
            self._count_stray(line)
            self._give_up_on(line, tasks)
            return
        name, number = message.get("method"), message.get("id")
        params = message.get("params")
        arguments: JsonObject = params if is_object(params) else {}
        if name == "$/cancel":
            self._cancel(arguments.get("id"), tasks)
        elif isinstance(name, str) and "id" in message:
            self._accept(number, name, arguments, methods, tasks)
        elif isinstance(name, str):
            if (listener := listeners.get(name)) is not None:
                listener(arguments)
        elif (waiting := self._waiting.get(number) if isinstance(number, int) else None) is not None:
            waiting.answer = message
            waiting.done.set()

    def _count_stray(self, line: bytes) -> None:
        if not line.strip():
            return
        self._strays += 1
        if self._strays <= SHOWN_STRAYS:
            sys.stderr.write(f"stray line from Pi: {line[:120]!r}\n")

    def _give_up_on(self, line: bytes, tasks: TaskGroup) -> None:
        # Whoever waits at either end would wait for ever.
        head = _HEAD.match(line)
        if head is None:
            return
        number, kind = int(head[1]), head[2]
        message = "the frame could not be read: it is not JSON, or nests too deeply"
        if kind == b"method":
            tasks.start_soon(self._refuse, number, REFUSED, message)
        elif (waiting := self._waiting.get(number)) is not None:
            waiting.answer = {"error": {"code": INTERNAL_ERROR, "message": message}}
            waiting.done.set()

    def _cancel(self, number: Json, tasks: TaskGroup) -> None:
        served = self._serving.get(number) if isinstance(number, int | str) else None
        if served is None:
            return
        call, method = served
        call.cancelled.set()
        if method.cancel_grace_s <= 0:
            call.scope.cancel()
        else:
            tasks.start_soon(_cancel_later, call.scope, method.cancel_grace_s)

    def _accept(
        self,
        number: Json,
        name: str,
        params: JsonObject,
        methods: Mapping[str, Method],
        tasks: TaskGroup,
    ) -> None:
        method = methods.get(name)
        if method is None:
            tasks.start_soon(self._refuse, number, METHOD_NOT_FOUND, f"unknown method {name}")
        elif len(self._serving) >= MAX_CALLS:
            tasks.start_soon(self._refuse, number, REFUSED, f"more than {MAX_CALLS} calls at once")
        else:
            # Known from now on: a cancellation may be the very next line.
            call = InboundCall()
            self._serving[number] = call, method
            tasks.start_soon(self._serve, number, params, call, method)

    async def _serve(self, number: Json, params: JsonObject, call: InboundCall, method: Method) -> None:
        try:
            with call.scope:
                await self._answer(number, method.handler(params, call))
            if call.scope.cancelled_caught:
                await self._refuse(number, CANCELLED, "cancelled")
        finally:
            self._serving.pop(number, None)

    async def _answer(self, number: Json, work: Awaitable[Json]) -> None:
        # The one boundary where an exception becomes an answer.
        try:
            result = await work
            await self._send({"id": number, "result": result})
        except Exception as error:
            await self._refuse(number, *_refusal(lone(error)))

    async def _refuse(self, number: Json, code: int, message: str, kind: str | None = None) -> None:
        error: JsonObject = {"code": code, "message": message}
        if kind is not None:
            error["data"] = {"code": kind}
        await self._send({"id": number, "error": error})


def _refusal(error: BaseException) -> tuple[int, str, str | None]:
    if isinstance(error, FabricError):
        code = INVALID_PARAMS if isinstance(error, RequestError) else REFUSED
        return code, error.message, error.code
    traceback.print_exception(error)
    return INTERNAL_ERROR, f"Fabric failed inside: {type(error).__name__}: {error}", None


async def _cancel_later(scope: anyio.CancelScope, grace_s: float) -> None:
    await anyio.sleep(grace_s)
    scope.cancel()


def _message_in(line: bytes) -> JsonObject | None:
    try:
        message = decode(line)
    except ValueError:
        return None
    return message if is_object(message) and message.get("jsonrpc") == "2.0" else None


def _result_of(answer: JsonObject) -> Json:
    if not answer:
        raise HostError(INTERNAL_ERROR, "Pi has closed the line")
    error = answer.get("error")
    if error is None:
        return answer.get("result")
    if not is_object(error):
        raise HostError(INTERNAL_ERROR, str(error))
    code = error.get("code")
    message = str(error.get("message"))
    raise HostError(code if isinstance(code, int) else INTERNAL_ERROR, message, error.get("data"))
