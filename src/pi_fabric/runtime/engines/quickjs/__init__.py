"""The engine `quickjs`: QuickJS-NG in WebAssembly, in a warm child process that is thrown away when in doubt.

The worker process imports this package too, so the host's side is loaded only when it is asked for.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_fabric.runtime.engines.quickjs.engine import QuickJsEngine

__all__ = ["QuickJsEngine"]


def __getattr__(name: str) -> object:
    if name == "QuickJsEngine":
        from pi_fabric.runtime.engines.quickjs.engine import QuickJsEngine  # noqa: PLC0415 - see above

        return QuickJsEngine
    raise AttributeError(name)
