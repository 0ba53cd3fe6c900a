"""A model that says what it was told to: an OpenAI-style chat-completions server on loopback.

Importable for tests (`with ScriptedModel() as model: model.say(...)`), and runnable:

    python tools/scripted_model.py [--port 0] [SCRIPT.json]

SCRIPT.json is a list of replies, given out in order: `{"text": "..."}` or
`{"calls": [{"name": "...", "arguments": {...}}], "text": "..."}`. When none is left it answers "done".
Every request body is kept in `requests`.
"""

import argparse
import json
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

PROVIDER = "scripted"
MODEL_ID = "scripted-1"
# Small enough that a client sees several deltas of one text, as from a real model.
DELTA_CHARS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call that the model makes."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the model."""

    text: str = ""
    calls: Sequence[ToolCall] = ()
    error: str = ""
    """Refuse the request with these words instead."""


class ScriptedModel:
    """The server; a context manager that listens on an ephemeral loopback port."""

    def __init__(self, port: int = 0) -> None:
        self.requests: list[dict[str, Any]] = []
        """Request bodies, in order of arrival."""
        self.context_window = 128_000
        """As Pi's files tell it; set it before they are written."""
        self.counts_tokens = False
        """True reports a token for four characters of each request; False always 100 tokens."""
        self._replies: deque[Reply] = deque()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler_for(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """Base URL for a client, with the `/v1`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def say(self, *replies: Reply) -> None:
        """Queue replies, one per request."""
        with self._lock:
            self._replies.extend(replies)

    def answer(self, body: dict[str, Any]) -> Reply:
        """Keep a request and take the next reply."""
        with self._lock:
            self.requests.append(body)
            return self._replies.popleft() if self._replies else Reply(text="done")

    def pi_files(self) -> dict[str, str]:
        """`models.json` and `settings.json` of a Pi agent folder that knows only this model."""
        model = {
            "id": MODEL_ID,
            "name": "Scripted",
            "input": ["text", "image"],
            "contextWindow": self.context_window,
        }
        provider = {
            "baseUrl": self.url,
            "api": "openai-completions",
            "apiKey": "none",
            "compat": {"supportsDeveloperRole": False, "supportsReasoningEffort": False},
            "models": [model],
        }
        settings = {
            "defaultProvider": PROVIDER,
            "defaultModel": MODEL_ID,
            "enableInstallTelemetry": False,
            "quietStartup": True,
            "retry": {"enabled": False},
        }
        return {
            "models.json": json.dumps({"providers": {PROVIDER: provider}}, indent=2),
            "settings.json": json.dumps(settings, indent=2),
        }

    def __enter__(self) -> Self:
        """Start listening."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def serve_forever(self) -> None:
        """Serve until interrupted; for running as a program."""
        self._server.serve_forever()


def _handler_for(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(size))
            reply = model.answer(body)
            if reply.error:
                self._refuse(reply.error)
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            try:
                prompt_tokens = size // 4 if model.counts_tokens else 100
                for event in _events(reply, body.get("model", MODEL_ID), prompt_tokens):
                    self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
                self.wfile.write(b"data: [DONE]\n\n")
            except OSError:
                return  # the client has aborted, which tests do on purpose

        def _refuse(self, words: str) -> None:
            answer = json.dumps({"error": {"message": words, "type": "invalid_request_error"}}).encode()
            self.send_response(400)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    return Handler


def _events(reply: Reply, model: str, prompt_tokens: int) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    starts = range(0, len(reply.text), DELTA_CHARS)
    deltas += [{"content": reply.text[start : start + DELTA_CHARS]} for start in starts]
    deltas += [
        {
            "tool_calls": [
                {
                    "index": index,
                    "id": f"call_{uuid4().hex[:12]}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
            ]
        }
        for index, call in enumerate(reply.calls)
    ]
    base = {"id": "scripted", "object": "chat.completion.chunk", "created": 0, "model": model}
    finish = "tool_calls" if reply.calls else "stop"
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    sizes = {"prompt_tokens": prompt_tokens, "completion_tokens": 10, "total_tokens": prompt_tokens + 10}
    return [*(base | {"choices": [choice]} for choice in choices), base | {"choices": [], "usage": sizes}]


def _replies_in(path: Path) -> list[Reply]:
    script = json.loads(path.read_text(encoding="utf-8"))
    return [
        Reply(text=step.get("text", ""), calls=[ToolCall(**call) for call in step.get("calls", [])])
        for step in script
    ]


def main() -> None:
    """Serve a script until interrupted."""
    parser = argparse.ArgumentParser(description="A scripted chat-completions server on loopback.")
    parser.add_argument("script", nargs="?", type=Path)
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    model = ScriptedModel(arguments.port)
    if arguments.script:
        model.say(*_replies_in(arguments.script))
    print(model.url, flush=True)
    model.serve_forever()


if __name__ == "__main__":
    main()
