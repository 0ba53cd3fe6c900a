"""One program's instance of the engine, driven in steps. Worker process only.

Keep the constants and the header's layout in step with native/quickjs/shim.c. Numbers that come out of the
instance are checked: a program that breaks the engine must not reach this process through them.
"""

import ctypes
import struct
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Self

import wasmtime

from pi_fabric.runtime.engines.quickjs.binding import Step

# Size of the shim's input buffer; larger inputs get room of their own.
INPUT_BYTES: Final = 65536

OP_PRELUDE, OP_START, OP_PROGRAM, OP_ANSWERS, OP_TICK = range(5)
STATE_WAITING, STATE_DONE, STATE_OUT_OF_MEMORY, STATE_BROKEN = range(4)

_HEADER = struct.Struct("<IIdQI")
_SEED = struct.Struct("<Q")
_SEED_OFFSET = 16
# WebAssembly addresses are unsigned, the binding gives them signed.
_ADDRESS_MASK = 0xFFFFFFFF


class Interrupted(Exception):
    """The program was stopped from outside in the middle of a step."""


class Crashed(Exception):
    """The engine failed; its state is unusable."""


class Addresses(NamedTuple):
    """Where the shim keeps its header and its input buffer."""

    header: int
    input: int


class Header(NamedTuple):
    """What the shim tells after a step."""

    out: int
    """Address of the lines that were written since the step began."""
    out_bytes: int
    wake_ms: float
    """Monotonic time of the next timer; negative when there is none."""
    seed: int
    pending: int
    """Host calls without an answer."""


class Guest:
    """An instance, from its start to its end. Leaving the context frees its memory.

    A new one holds the bare module: it must be booted, or an image copied in and `restore`d.
    """

    def __init__(self, store: wasmtime.Store, exports: Mapping[str, object], step: Step) -> None:
        self._store = store
        self._exports = exports
        self._memory = _memory(exports)
        # The engine's configuration keeps the memory from moving when it grows.
        self._base = ctypes.addressof(self._memory.data_ptr(store).contents)
        self._step = step
        self.addresses = Addresses(0, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    @property
    def memory_bytes(self) -> int:
        """Size of the linear memory now."""
        return self._memory.data_len(self._store)

    @property
    def stack_pointer(self) -> int:
        """Top of the stack in linear memory."""
        return int(_global(self._exports).value(self._store))

    def boot(self, stack_bytes: int) -> None:
        """Create the engine in a bare instance.

        Args:
            stack_bytes: Depth of the stack in linear memory at which recursion becomes an error.

        Raises:
            Crashed: If it cannot be created.
        """
        function(self._exports, "_initialize")(self._store)
        if function(self._exports, "boot")(self._store, stack_bytes):
            raise Crashed("the engine cannot be created")
        self.addresses = Addresses(self._address_of("header_address"), self._address_of("input_address"))

    def restore(self, addresses: Addresses, stack_pointer: int, seed: int) -> None:
        """Take up an image that was copied in, with a `Math.random` of its own."""
        self.addresses = addresses
        _global(self._exports).set_value(self._store, stack_pointer)
        self.poke(addresses.header + _SEED_OFFSET, _SEED.pack(seed))

    def step(self, operation: int, text: bytes = b"") -> int:
        """Do one thing and run until the program waits.

        Returns:
            A STATE_ constant.

        Raises:
            Interrupted: If the program was stopped; what it wrote so far can still be read.
            Crashed: If the engine failed.
        """
        if len(text) <= INPUT_BYTES:
            self.poke(self.addresses.input, text + b"\0")
            return self._guarded(lambda: self._step(operation, self.addresses.input, len(text)))
        reserve, release = function(self._exports, "reserve"), function(self._exports, "release")
        at = self._guarded(lambda: reserve(self._store, len(text) + 1)) & _ADDRESS_MASK
        if at == 0:
            return STATE_OUT_OF_MEMORY
        self.poke(at, text + b"\0")
        state = self._guarded(lambda: self._step(operation, at, len(text)))
        self._guarded(lambda: release(self._store, at) or 0)
        return state

    def header(self) -> Header:
        """What the shim tells now."""
        return Header(*_HEADER.unpack(self.peek(self.addresses.header, _HEADER.size)))

    def peek(self, at: int, size: int) -> bytes:
        """Copy from linear memory.

        Raises:
            Crashed: If the range is not inside it.
        """
        self._check(at, size)
        return ctypes.string_at(self._base + at, size)

    def poke(self, at: int, data: bytes) -> None:
        """Copy into linear memory.

        Raises:
            Crashed: If the range is not inside it.
        """
        self._check(at, len(data))
        ctypes.memmove(self._base + at, data, len(data))

    def grow_to(self, size: int) -> None:
        """Make the memory at least `size` bytes.

        Raises:
            Crashed: If the cap does not allow it.
        """
        missing = size - self.memory_bytes
        if missing <= 0:
            return
        page_bytes = 65536
        try:
            self._memory.grow(self._store, -(-missing // page_bytes))
        except wasmtime.WasmtimeError as error:
            raise Crashed(f"the memory cap is below the {size} bytes that the engine itself needs") from error

    def _check(self, at: int, size: int) -> None:
        if at + size > self.memory_bytes:
            raise Crashed("the engine points outside its memory")

    def _address_of(self, export: str) -> int:
        return int(function(self._exports, export)(self._store)) & _ADDRESS_MASK

    def _guarded(self, call: Callable[[], int]) -> int:
        try:
            return call()
        except wasmtime.Trap as trap:
            if trap.trap_code == wasmtime.TrapCode.INTERRUPT:
                raise Interrupted from None
            raise Crashed(f"trap {trap.trap_code}") from trap
        except wasmtime.WasmtimeError as error:
            raise Crashed(str(error)) from error


def function(exports: Mapping[str, object], name: str) -> wasmtime.Func:
    """An exported function."""
    found = exports[name]
    assert isinstance(found, wasmtime.Func)
    return found


def _memory(exports: Mapping[str, object]) -> wasmtime.Memory:
    found = exports["memory"]
    assert isinstance(found, wasmtime.Memory)
    return found


def _global(exports: Mapping[str, object]) -> wasmtime.Global:
    found = exports["__stack_pointer"]
    assert isinstance(found, wasmtime.Global)
    return found
