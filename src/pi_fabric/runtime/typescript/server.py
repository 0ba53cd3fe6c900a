"""Talk to a resident compiler: the language server protocol, as much of it as checking needs.

One document holds the program, another the declarations; both live in the server's memory. Not safe for
concurrent use, and not usable after an exchange that was cut short.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
import msgspec
from anyio.abc import ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

from pi_fabric.base.jsonvalue import Json, JsonObject, decode, encode, is_object
from pi_fabric.base.process import child_process
from pi_fabric.runtime.typescript.compiler import Compiler
from pi_fabric.runtime.typescript.lines import EDITOR_BREAK, Lines
from pi_fabric.runtime.typescript.reported import Reported
from pi_fabric.runtime.typescript.run import CompilerFailed, compiler_environment

PROGRAM: Final = "program.ts"
DECLARATIONS: Final = "guest.d.ts"
CONFIGURATION: Final = "tsconfig.json"
OPTIONS: Final[JsonObject] = {
    "compilerOptions": {
        "target": "es2022",
        "lib": ["es2022"],
        "module": "esnext",
        "strict": False,
        "types": [],
        "noResolve": True,
        "noEmit": True,
    },
    "files": [PROGRAM, DECLARATIONS],
}
# The server reports some 200 bytes a problem; this is a program with a hundred thousand of them.
MAX_FRAME_BYTES: Final = 32 * 1024 * 1024
_MAX_HEADER_BYTES: Final = 4096
_ERROR: Final = 1


class ServerDied(CompilerFailed):
    """The server ended, or said something that is not the protocol."""


class _Position(msgspec.Struct):
    line: int
    character: int


class _Range(msgspec.Struct):
    start: _Position


class _Item(msgspec.Struct):
    range: _Range
    message: str
    code: int | str = 0
    severity: int = _ERROR


class _Report(msgspec.Struct):
    items: list[_Item] = []


def write_workspace(folder: Path) -> None:
    """Put the configuration and two empty documents where the server looks for them. Blocking."""
    (folder / CONFIGURATION).write_bytes(encode(OPTIONS))
    (folder / PROGRAM).write_bytes(b"")
    (folder / DECLARATIONS).write_bytes(b"")


@asynccontextmanager
async def language_server(
    compiler: Compiler, folder: Path, *, grace_s: float
) -> AsyncGenerator["LanguageServer"]:
    """Start a server over a workspace; it has ended when the block is left.

    It also ends by itself when its stdin closes, so never outlives this process.

    Args:
        compiler: Verified compiler.
        folder: Workspace, as `write_workspace` left it.
        grace_s: Seconds for each step of ending it.

    Raises:
        OSError: If it cannot be started.
        ServerDied: If it does not answer as a language server.
    """
    argv = [str(compiler.path), "--lsp", "--stdio"]
    async with child_process(argv, cwd=folder, env=compiler_environment(), grace_s=grace_s) as process:
        server = LanguageServer(process, folder)
        await server.greet()
        yield server


class LanguageServer:
    """One running server."""

    def __init__(self, process: Process, folder: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._root = folder.as_uri()
        self._send: ByteSendStream = process.stdin
        self._receive = BufferedByteReceiveStream(process.stdout)
        self._request_count = 0
        self._version = 0
        self._declarations = ""

    async def greet(self) -> None:
        """Shake hands and open both documents."""
        await self._request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": self._root,
                "workspaceFolders": [{"uri": self._root, "name": "program"}],
                "capabilities": {
                    "general": {"positionEncodings": ["utf-16"]},
                    "textDocument": {"diagnostic": {"relatedDocumentSupport": False}},
                },
                "initializationOptions": {"disableAutomaticTypingAcquisition": True},
            },
        )
        await self._notify("initialized", {})
        for name in (DECLARATIONS, PROGRAM):
            document = {"uri": self._uri(name), "languageId": "typescript", "version": 0, "text": ""}
            await self._notify("textDocument/didOpen", {"textDocument": document})

    async def check(self, source: str, declarations: str) -> list[Reported]:
        """Replace both documents and return the errors in the program.

        Args:
            source: The wrapped program.
            declarations: What is declared around it; sent only when it changed.

        Raises:
            ServerDied: If the server ended or broke the protocol.
        """
        if declarations != self._declarations:
            await self._replace(DECLARATIONS, declarations)
            self._declarations = declarations
        await self._replace(PROGRAM, source)
        result = await self._request("textDocument/diagnostic", {"textDocument": {"uri": self._uri(PROGRAM)}})
        return await anyio.to_thread.run_sync(_errors_in, result, source)

    async def _replace(self, name: str, text: str) -> None:
        self._version += 1
        await self._notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": self._uri(name), "version": self._version},
                "contentChanges": [{"text": text}],
            },
        )

    def _uri(self, name: str) -> str:
        return f"{self._root}/{name}"

    async def _request(self, method: str, params: JsonObject) -> Json:
        self._request_count += 1
        request_id = self._request_count
        await self._write({"id": request_id, "method": method, "params": params})
        while True:
            message = await self._read()
            if "method" in message:
                await self._answer(message)
            elif message.get("id") == request_id:
                if "error" in message:
                    raise ServerDied(f"the type checker refused {method}: {message['error']}")
                return message.get("result")

    async def _notify(self, method: str, params: JsonObject) -> None:
        await self._write({"method": method, "params": params})

    async def _answer(self, message: JsonObject) -> None:
        """Reply to what the server asks for: nothing is configured, everything is registered."""
        if "id" not in message:
            return
        params: Json = message.get("params")
        items: Json = params.get("items") if is_object(params) else None
        is_configuration = message["method"] == "workspace/configuration"
        result = [None for _ in items or ()] if is_configuration else None
        await self._write({"id": message["id"], "result": result})

    async def _write(self, message: JsonObject) -> None:
        body = encode({"jsonrpc": "2.0", **message})
        try:
            await self._send.send(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ServerDied("the type checker ended") from None

    async def _read(self) -> JsonObject:
        try:
            header = await self._receive.receive_until(b"\r\n\r\n", _MAX_HEADER_BYTES)
            body = await self._receive.receive_exactly(_body_length(header))
            message = decode(body)
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            raise ServerDied("the type checker ended") from None
        except (anyio.DelimiterNotFound, ValueError):
            raise ServerDied("the type checker sent something that is no message") from None
        if not is_object(message):
            raise ServerDied("the type checker sent something that is no message")
        return message


def _body_length(header: bytes) -> int:
    for line in header.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
            if 0 <= length <= MAX_FRAME_BYTES:
                return length
    raise ValueError("no usable Content-Length")


def _errors_in(result: Json, source: str) -> list[Reported]:
    try:
        report = msgspec.convert(result, _Report)
    except msgspec.ValidationError as error:
        raise ServerDied(f"the type checker sent an unusable report: {error}") from error
    lines = Lines(source, EDITOR_BREAK)
    return [
        Reported(
            offset=lines.offset(item.range.start.line, item.range.start.character),
            code=int(item.code),
            message=item.message,
        )
        for item in report.items
        if item.severity == _ERROR
    ]
