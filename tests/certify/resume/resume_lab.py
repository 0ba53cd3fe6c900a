"""The benchmark against the real Pi, with a model that does as it is told."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pi_fabric.base.clock import FakeClock
from pi_fabric.certify.resume.arms import ArmName
from pi_fabric.certify.resume.fixture import BUILT_IN, Fixture, load_fixture
from pi_fabric.certify.resume.gate import Gate
from pi_fabric.certify.resume.one_run import RESUME_PROMPT, Bench
from pi_fabric.certify.resume.scrub import Scrubber
from tools import install_pi
from tools.scripted_model import MODEL_ID, PROVIDER, Reply, ScriptedModel, ToolCall

KEY_ENV = "BENCH_TEST_KEY"
KEY = "sk-test-5e6f7a8b9c0d-NEVER/SHOWN"
# Pi counts 100 tokens in and 10 out for every answer of the scripted model: each costs this much.
ANSWER_USD = 0.12
COST = {"input": 1000, "output": 2000, "cacheRead": 0, "cacheWrite": 0}

LIMITS = """\
import { readFileSync } from "node:fs";
const tenants = JSON.parse(readFileSync(new URL("../config/limits.json", import.meta.url), "utf8"));
export function limitsOf(name) {
  if (!tenants[name]) throw new Error(`unknown tenant ${name}`);
  return tenants[name];
}
export function allow(name, timesMs, nowMs) {
  const { burst, windowMs } = limitsOf(name);
  return timesMs.filter((time) => nowMs - time < windowMs).length < burst;
}
"""


def done_files() -> dict[str, str]:
    """What a repository of `tenant-limits` needs to pass."""
    expected = BUILT_IN / "tenant-limits" / "expected" / "config" / "limits.json"
    return {"config/limits.json": expected.read_text(encoding="utf-8"), "src/limits.mjs": LIMITS}


def writing(files: Mapping[str, str], *, before: str = "") -> Reply:
    """An answer that writes files through a program."""
    writes = [f"await pi.write({json.dumps({'path': p, 'content': c})});" for p, c in files.items()]
    return Reply(calls=[ToolCall(name="fabric_exec", arguments={"code": "\n".join([before, *writes])})])


def is_summary_request(body: Mapping[str, Any]) -> bool:
    return not body.get("tools")


def last_text(body: Mapping[str, Any]) -> str:
    """Text of the newest message of a request."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


class Worker(ScriptedModel):
    """Summarizes when asked to, answers the resume prompt with `work`, and else says that it is done."""

    def __init__(self) -> None:
        super().__init__()
        self.work: Callable[[dict[str, Any]], Reply] = lambda _: writing(done_files())
        self.resumed: list[dict[str, Any]] = []
        """Requests that hold the resume prompt as their newest message."""
        self.authorizations: list[str] = []
        """What each request came with."""
        # Made for this server alone, so that it may be changed.
        handler: Any = self._server.RequestHandlerClass
        handle: Callable[[Any], None] = handler.do_POST

        def recorded(request: Any) -> None:
            self.authorizations.append(request.headers.get("authorization", ""))
            handle(request)

        handler.do_POST = recorded

    def answer(self, body: dict[str, Any]) -> Reply:
        self.requests.append(body)
        if is_summary_request(body):
            return Reply(text="## Goal\nA summary by the model.")
        if last_text(body) != RESUME_PROMPT:
            return Reply(text="done")
        self.resumed.append(body)
        return self.work(body)

    def write_models(self, folder: Path) -> Path:
        """A models.json that knows only this model, which costs money."""
        content = json.loads(self.pi_files()["models.json"])
        provider = content["providers"][PROVIDER]
        del provider["apiKey"]
        provider["models"][0]["cost"] = COST
        file = folder / "models.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        return file


def node_path() -> str:
    """PATH with Node on it, which Pi's own first line asks for."""
    return os.pathsep.join((str(install_pi.node().parent), os.environ["PATH"]))


def tenant_limits() -> Fixture:
    return load_fixture(BUILT_IN / "tenant-limits")


def bench_of(
    model: ScriptedModel, folder: Path, version: str, *, timeout_s: float = 60, **gate: Any
) -> Bench:
    models = model.write_models(folder) if isinstance(model, Worker) else None
    chosen: dict[str, Any] = {
        "provider": PROVIDER,
        "model": MODEL_ID,
        "key_env": KEY_ENV,
        "key": KEY,
        "max_usd": 100.0,
        "repeats": 1,
        "models": models,
    }
    return Bench(
        gate=Gate(**chosen | gate),
        pi=(str(install_pi.node()), str(install_pi.entry(version))),
        node=install_pi.node(),
        environ=os.environ,
        timeout_s=timeout_s,
        scrub=Scrubber(KEY_ENV, KEY),
        clock=FakeClock(),
    )


ALL_ARMS: tuple[ArmName, ...] = ("baseline", "fabric", "pi-vcc", "pi")
