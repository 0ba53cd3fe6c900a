"""The line between host and worker: neither believes what the other sends."""

import signal
import sys

import anyio
import pytest
from engine_lab import PROBE

from pi_fabric.base.process import child_process
from pi_fabric.runtime.engines.quickjs import frames
from pi_fabric.runtime.engines.quickjs.child import Worker, WorkerGone, start_worker

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "garbage",
    [
        frames.pack(ord("?"), b"{}"),
        frames.pack(frames.PROGRAM, b"short"),
        frames.HEADER.pack(frames.MAX_PAYLOAD_BYTES + 1, frames.PROGRAM),
    ],
    ids=["unknown kind", "no program", "too large"],
)
async def test_a_worker_that_is_sent_garbage_ends(garbage: bytes) -> None:
    with anyio.fail_after(20):
        async with start_worker(PROBE) as worker:
            await worker.send(garbage)
            with pytest.raises(WorkerGone, match="it exited with code 1"):
                await worker.receive()


async def test_a_worker_ends_when_its_input_is_closed() -> None:
    with anyio.fail_after(20):
        async with start_worker(PROBE) as worker:
            assert worker.is_alive
        await worker.wait()
        assert not worker.is_alive


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (r"b'\xff\xff\xff\xff\xff'", "it announced a frame of 4294967295 bytes"),
        (r"b'\x09\x00\x00\x00dhalf'", "it exited with code 0"),
        (r"b''", "it exited with code 0"),
    ],
)
async def test_a_host_that_is_sent_garbage_says_what_it_was(written: str, reason: str) -> None:
    argv = [sys.executable, "-c", f"import sys; sys.stdout.buffer.write({written})"]
    with anyio.fail_after(20):
        async with child_process(argv) as process:
            with pytest.raises(WorkerGone, match=reason):
                await Worker(process).receive()


async def test_a_worker_that_is_gone_can_be_told_to_stop_without_harm() -> None:
    async with start_worker(PROBE) as worker:
        worker.kill()
        await worker.wait()
        worker.interrupt()
        worker.kill()
        assert await worker.describe_end() == f"it was killed by signal {signal.SIGKILL}"
