"""What is particular about wasmtime's Python binding: which version it is, and how to call it quickly.

The public call builds types and values anew each time, which costs seven times what the call itself does, and
nothing public sets the size of the machine stack. The short ways use a layer of the binding that carries no
promise, so they are taken only with the very version they were written against; any other version gets the
public call and a smaller stack.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

import wasmtime

# The one version whose private layer was read.
KNOWN_VERSION: Final = "50.0.1"

Step: TypeAlias = Callable[[int, int, int], int]
"""`step(operation, address, size)`; raises `wasmtime.Trap` or `wasmtime.WasmtimeError`."""


def installed_version() -> str:
    """Version of the binding, empty when it cannot be told.

    Read off the metadata folder's name: `importlib.metadata` would cost a third of a worker's start.
    """
    found = list(Path(wasmtime.__file__).parent.parent.glob("wasmtime-*.dist-info"))
    return found[0].name.removeprefix("wasmtime-").removesuffix(".dist-info") if len(found) == 1 else ""


def widen_stack(config: wasmtime.Config, stack_bytes: int, *, version: str) -> bool:
    """Let WebAssembly use this much machine stack; the calling thread must have more.

    Returns:
        False when this version of the binding cannot, and its default stays.
    """
    if version != KNOWN_VERSION:
        return False
    _private_layer().wasmtime_config_async_stack_size_set(config.ptr(), stack_bytes)
    config.max_wasm_stack = stack_bytes
    return True


def bind_step(store: wasmtime.Store, function: wasmtime.Func, *, version: str) -> Step:
    """The fastest safe way to call `function` in `store` with this version of the binding."""
    if version == KNOWN_VERSION:
        return _bind_unchecked(store, function)

    def step(operation: int, address: int, size: int) -> int:
        return int(function(store, operation, address, size))

    return step


def _bind_unchecked(store: Any, function: Any) -> Step:
    layer: Any = _private_layer()
    error_type: Any = wasmtime.WasmtimeError
    trap_type: Any = wasmtime.Trap
    context = store._context()
    values = (layer.wasmtime_val_raw_t * 3)()
    pointer_to: Callable[[Any], Any] = ctypes.POINTER
    trap = pointer_to(layer.wasm_trap_t)()
    trap_out = ctypes.byref(trap)
    target = ctypes.byref(function._func)
    call = layer._wasmtime_func_call_unchecked
    first, second, third = values[0], values[1], values[2]

    def step(operation: int, address: int, size: int) -> int:
        first.i32, second.i32, third.i32 = operation, address, size
        error = call(context, target, values, 3, trap_out)
        if error:
            raise error_type._from_ptr(error)
        if trap:
            raise trap_type._from_ptr(trap)
        return int(first.i32)

    return step


def _private_layer() -> Any:
    # `Any`: it has no types that could be checked.
    return wasmtime.__dict__["_bindings"]
