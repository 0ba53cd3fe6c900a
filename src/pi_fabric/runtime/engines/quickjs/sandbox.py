"""The compiled module and the memory image that every program starts from. Worker process only.

The module imports a clock and stubs that refuse every file: there is no file, network or process in there.
Each program gets a store of its own, so nothing of one reaches the next.
"""

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import wasmtime

from pi_fabric.runtime.engines.quickjs.binding import bind_step, installed_version, widen_stack
from pi_fabric.runtime.engines.quickjs.guest import (
    OP_PRELUDE,
    STATE_WAITING,
    Addresses,
    Crashed,
    Guest,
    function,
)
from pi_fabric.runtime.engines.quickjs.module_cache import load_module

# Depth in linear memory, of the 2 MiB that the build gives: some 4,900 plain calls.
GUEST_STACK_BYTES: Final = 1536 * 1024
# Machine stack for the same depth; the parser and JSON use up to 26 times as much there (measured).
NATIVE_STACK_BYTES: Final = 64 * 2**20
# The same where the binding cannot be told to use a larger machine stack than its 2 MiB.
SMALL_GUEST_STACK_BYTES: Final = 96 * 1024
# Granularity in which the image is kept: zero blocks cost nothing in a fresh memory.
IMAGE_BLOCK_BYTES: Final = 4096

_WASI = "wasi_snapshot_preview1"
_EBADF = 8
_REALTIME_CLOCK = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An instance's memory after the prelude ran."""

    size: int
    """Bytes of memory, zero blocks included."""
    runs: tuple[tuple[int, bytes], ...]
    """Address and content of what is not zero."""
    stack_pointer: int
    addresses: Addresses


class Sandbox:
    """Starts programs; one at a time, from one thread. Only `interrupt` may come from another."""

    def __init__(self, wasm: Path, prelude: bytes) -> None:
        """Load the module and run the prelude. Takes seconds the first time on a machine.

        Args:
            wasm: The module that native/quickjs/build.py makes.
            prelude: Source of a function that takes the shim's natives.

        Raises:
            Crashed: If the prelude does not run.
            wasmtime.WasmtimeError: If the module is not a usable one.
            OSError: If it cannot be read.
        """
        self._version = installed_version()
        config = wasmtime.Config()
        config.epoch_interruption = True
        config.memory_may_move = False
        is_wide = widen_stack(config, NATIVE_STACK_BYTES, version=self._version)
        self._engine = wasmtime.Engine(config)
        self._guest: Guest | None = None
        linker = wasmtime.Linker(self._engine)
        _define_imports(linker, self._clock)
        self._module = linker.instantiate_pre(load_module(self._engine, wasm))
        self._image = self._take_image(prelude, GUEST_STACK_BYTES if is_wide else SMALL_GUEST_STACK_BYTES)

    def interrupt(self) -> None:
        """Stop the running program at its next loop or call, and any later one at its first."""
        self._engine.increment_epoch()

    def start(self, *, memory_bytes: int, seed: int) -> Guest:
        """A fresh instance that is ready for OP_START.

        Args:
            memory_bytes: Cap of its linear memory, the engine's own part included.
            seed: Of `Math.random`.

        Raises:
            Crashed: If the cap does not even hold the engine.
        """
        try:
            guest = self._instantiate(memory_bytes)
        except wasmtime.WasmtimeError as error:
            raise Crashed(f"no memory of {memory_bytes} bytes can be had") from error
        guest.grow_to(self._image.size)
        for at, run in self._image.runs:
            guest.poke(at, run)
        guest.restore(self._image.addresses, self._image.stack_pointer, seed)
        return guest

    def _take_image(self, prelude: bytes, stack_bytes: int) -> Image:
        with self._instantiate(-1) as guest:
            guest.boot(stack_bytes)
            if guest.step(OP_PRELUDE, prelude) != STATE_WAITING:
                raise Crashed("the prelude does not run")
            memory = guest.peek(0, guest.memory_bytes)
            return Image(
                size=len(memory),
                runs=tuple(_non_zero_runs(memory)),
                stack_pointer=guest.stack_pointer,
                addresses=guest.addresses,
            )

    def _instantiate(self, memory_bytes: int) -> Guest:
        store = wasmtime.Store(self._engine)
        store.set_limits(memory_size=memory_bytes)
        store.set_epoch_deadline(1)
        exports = self._module.instantiate(store).exports(store)
        step = bind_step(store, function(exports, "step"), version=self._version)
        self._guest = Guest(store, exports, step)
        return self._guest

    def _clock(self, clock: int, _precision: int, at: int) -> int:
        assert self._guest is not None
        now = time.time_ns() if clock == _REALTIME_CLOCK else time.monotonic_ns()
        self._guest.poke(at & 0xFFFFFFFF, struct.pack("<Q", now))
        return 0


def _define_imports(linker: wasmtime.Linker, clock: Callable[[int, int, int], int]) -> None:
    i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()
    refused: dict[str, list[wasmtime.ValType]] = {
        "fd_close": [i32],
        "fd_fdstat_get": [i32, i32],
        "fd_seek": [i32, i64, i32, i32],
        "fd_write": [i32, i32, i32, i32],
    }
    for name, parameters in refused.items():
        linker.define_func(_WASI, name, wasmtime.FuncType(parameters, [i32]), lambda *_: _EBADF)
    linker.define_func(_WASI, "clock_time_get", wasmtime.FuncType([i32, i64, i32], [i32]), clock)


def _non_zero_runs(memory: bytes) -> list[tuple[int, bytes]]:
    zero = bytes(IMAGE_BLOCK_BYTES)
    runs: list[tuple[int, bytes]] = []
    start = 0
    for at in range(0, len(memory) + IMAGE_BLOCK_BYTES, IMAGE_BLOCK_BYTES):
        block = memory[at : at + IMAGE_BLOCK_BYTES]
        if block and block != zero:
            continue
        if start < at:
            runs.append((start, memory[start:at]))
        start = at + IMAGE_BLOCK_BYTES
    return runs
