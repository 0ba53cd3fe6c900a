"""Pi's core tools as the engine sees them: each call runs Pi's own implementation, in Pi."""

from collections.abc import Callable
from pathlib import Path

import anyio.to_thread

from pi_fabric.base.errors import Unavailable
from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_object
from pi_fabric.host.pi.execution import current_execution
from pi_fabric.host.pi.repeated_edits import has_repeated_edits, spanning
from pi_fabric.host.pi.rpc import Peer
from pi_fabric.protocol.actions import ImageBlock
from pi_fabric.protocol.host import ToolResult

SEARCHES = frozenset({"grep", "find"})
# How Pi says that the program it searches with could not be had: it downloads one, which fails offline.
NO_PROGRAM = "is not available and could not be downloaded"


class PiTools:
    """A `ToolPort` whose tools run in Pi, with its hooks and permissions where Pi applies them.

    Any number of calls may be open at once. Pi resolves paths in its own working folder.
    """

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._updates: dict[str, Callable[[Json], None]] = {}

    async def run(
        self, name: str, args: JsonObject, *, call_id: str, cwd: Path, update: Callable[[Json], None]
    ) -> ToolResult:
        """Run one tool; cancellation of the awaiting task aborts it in Pi.

        Raises:
            HostError: If Pi cannot run it at all, or is gone.
        """
        if has_repeated_edits(name, args):
            args = await anyio.to_thread.run_sync(spanning, args, cwd)
        result = await self._run_in_pi(name, args, call_id=call_id, update=update)
        if name in SEARCHES and result.is_error and NO_PROGRAM in result.text:
            return await _search_ourselves(name, args, call_id=call_id, cwd=cwd, update=update)
        return result

    async def _run_in_pi(
        self, name: str, args: JsonObject, *, call_id: str, update: Callable[[Json], None]
    ) -> ToolResult:
        self._updates[call_id] = update
        try:
            answer = await self._peer.request(
                "host.tool",
                {"execution": current_execution(), "call": call_id, "name": name, "args": args},
            )
        finally:
            self._updates.pop(call_id, None)
        if not is_object(answer):
            raise Unavailable(f"Pi gave no result for {name}", "see `/fabric status`")
        return _tool_result(answer)

    def on_update(self, params: JsonObject) -> None:
        """Pass a partial result on; one that arrives after the end is ignored."""
        call, partial = params.get("call"), params.get("partial")
        update = self._updates.get(call) if isinstance(call, str) else None
        if update is not None:
            update(partial)


async def _search_ourselves(
    name: str, args: JsonObject, *, call_id: str, cwd: Path, update: Callable[[Json], None]
) -> ToolResult:
    from pi_fabric.host.standalone import StandaloneTools  # noqa: PLC0415 - rarely needed

    async with StandaloneTools() as tools:
        return await tools.run(name, args, call_id=call_id, cwd=cwd, update=update)


def _tool_result(answer: JsonObject) -> ToolResult:
    blocks = _blocks(answer.get("content"))
    details, executed = answer.get("details"), answer.get("executedArgs")
    return ToolResult(
        text="\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text"),
        images=tuple(
            ImageBlock(data=str(block.get("data", "")), mime_type=str(block.get("mimeType", "")))
            for block in blocks
            if block.get("type") == "image"
        ),
        details=details if is_object(details) else None,
        is_error=answer.get("isError") is True,
        executed_args=executed if is_object(executed) else None,
    )


def _blocks(content: Json) -> list[JsonObject]:
    return [block for block in content if is_object(block)] if is_array(content) else []
