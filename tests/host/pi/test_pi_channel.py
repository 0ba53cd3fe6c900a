"""Lines over descriptors."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.errors import LimitReached
from pi_fabric.host.pi.channel import LineChannel

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def pipe(*, max_line_bytes: int = 1024) -> AsyncGenerator[tuple[int, LineChannel]]:
    """A descriptor to write to, and the channel that reads from it."""
    read_fd, write_fd = os.pipe()
    channel = LineChannel(read_fd, write_fd, max_line_bytes=max_line_bytes)
    try:
        yield write_fd, channel
    finally:
        for fd in (read_fd, write_fd):
            try:
                os.close(fd)
            except OSError:
                continue  # closed by the test


async def received(chunks: list[bytes], *, max_line_bytes: int = 1024) -> tuple[list[bytes], int]:
    lines: list[bytes] = []
    async with pipe(max_line_bytes=max_line_bytes) as (write_fd, channel):
        async with anyio.create_task_group() as tasks:

            async def write() -> None:
                for chunk in chunks:
                    os.write(write_fd, chunk)
                    await anyio.lowlevel.checkpoint()
                os.close(write_fd)

            tasks.start_soon(write)
            lines = [line async for line in channel.lines()]
        return lines, channel.dropped


@pytest.mark.requirement("pi:line:framing")
async def test_only_a_line_feed_ends_a_line() -> None:
    data = "a\u2028b\u2029c\u0085d\x0be\x0cf\rg\nnext\n".encode()
    assert await received([data]) == (data.split(b"\n")[:2], 0)


async def test_an_unfinished_last_line_is_dropped() -> None:
    assert await received([b"whole\nhalf"]) == ([b"whole"], 0)


@pytest.mark.requirement("pi:line:bounds")
async def test_a_line_over_the_bound_is_skipped_and_counted() -> None:
    long = [b"x" * 300] * 10
    assert await received([b"a\n", *long, b"\nb\n"], max_line_bytes=100) == ([b"a", b"b"], 1)


@given(st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.data())
def test_cutting_the_stream_anywhere_changes_no_line(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    edges = [0, *cuts, len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(edges)]
    assert anyio.run(received, chunks) == (lines, 0)


async def test_lines_of_many_senders_never_mix_although_the_pipe_is_full() -> None:
    async with pipe(max_line_bytes=1_000_000) as (write_fd, channel), anyio.create_task_group() as tasks:
        letters = [bytes([65 + n]) * 200_000 for n in range(8)]
        for line in letters:
            tasks.start_soon(channel.send, line)
        with anyio.fail_after(10):
            lines = channel.lines()
            got = [await anext(lines) for _ in letters]
            await lines.aclose()
        assert sorted(got) == letters
        assert write_fd >= 0


async def test_a_sender_cancelled_in_mid_line_finishes_it() -> None:
    lines: list[bytes] = []
    async with pipe(max_line_bytes=1_000_000) as (_, channel), anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:
            tasks.start_soon(_cancel_soon, scope)
            tasks.start_soon(_collect, channel, lines)
            await channel.send(b"x" * 500_000)
        await channel.send(b"next")
        with anyio.fail_after(10):
            while len(lines) < 2:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert [len(line) for line in lines] == [500_000, 4]


async def _cancel_soon(scope: anyio.CancelScope) -> None:
    scope.cancel()


async def _collect(channel: LineChannel, lines: list[bytes]) -> None:
    async for line in channel.lines():
        lines.append(line)  # noqa: PERF401 - read by the test meanwhile


async def test_a_frame_over_the_bound_is_refused_before_a_byte_of_it_is_sent() -> None:
    async with pipe(max_line_bytes=10) as (_, channel):
        with pytest.raises(LimitReached, match="10 bytes"):
            await channel.send(b"x" * 11)


async def test_a_peer_that_is_gone_is_a_broken_line() -> None:
    read_fd, write_fd = os.pipe()
    channel = LineChannel(read_fd, write_fd)
    os.close(read_fd)
    with pytest.raises(anyio.BrokenResourceError):
        await channel.send(b"hello")
    os.close(write_fd)
