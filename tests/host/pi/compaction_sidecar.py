"""The stub sidecar, whose answers to Pi's questions for a summary go wrong when the instructions say so.

Instructions: `raise`, `die`, `hang`, `freeze`; a JSON object is the answer itself; all else is answered
rightly.
"""

import json
import os
import signal

import anyio

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.cli.sidecar import load_settings
from pi_fabric.host.pi.channel import claim_stdio
from pi_fabric.host.pi.compaction import PiCompaction
from pi_fabric.host.pi.rpc import Handler, InboundCall, Method
from pi_fabric.host.pi.sidecar import Sidecar
from tests.host.pi.stub_sidecar import open_stub


class FaultyCompaction(PiCompaction):
    def methods(self) -> dict[str, Method]:
        right = dict(super().methods())
        for name in ("compact", "summarizeBranch"):
            right[name] = Method(handler=_faulty(right[name].handler))
        return right


def _faulty(right: Handler) -> Handler:
    async def answer(params: JsonObject, call: InboundCall) -> Json:
        fault = str(params.get("customInstructions"))
        if fault == "raise":
            raise RuntimeError("a fault in Python")
        if fault == "die":
            os._exit(7)
        if fault == "hang":
            await anyio.sleep_forever()
        if fault == "freeze":
            os.kill(os.getpid(), signal.SIGSTOP)
        return json.loads(fault) if fault.startswith("{") else await right(params, call)

    return answer


class FaultySidecar(Sidecar):
    def __init__(self) -> None:
        super().__init__(claim_stdio(), open_fabric=open_stub, load_settings=load_settings)
        self._compaction = FaultyCompaction(lambda: self._greeted()[1].config.compaction)


if __name__ == "__main__":
    anyio.run(FaultySidecar().run)
