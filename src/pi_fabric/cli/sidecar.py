"""`python -m pi_fabric.cli.sidecar`: what the extension starts. No command: it speaks frames on stdio.

Joins the engine, which only `compose` can build, to the line, which only `host.pi` knows. Heavy modules
are imported when the first answer is out, never before.
"""

import signal
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio

from pi_fabric.host.pi.channel import LineChannel, claim_stdio
from pi_fabric.host.pi.end_watch import watch_end
from pi_fabric.host.pi.settings import Settings, trust_state
from pi_fabric.host.pi.sidecar import Fabric, Sidecar
from pi_fabric.protocol.host import HostPorts


def main() -> None:
    """Serve one Pi session on standard input and output until it closes them."""
    channel = claim_stdio()
    watch_end(channel.read_fd)
    anyio.run(_serve, channel)


async def _serve(channel: LineChannel) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_on_term, tasks.cancel_scope)
        await Sidecar(channel, open_fabric=_open_fabric, load_settings=load_settings).run()
        tasks.cancel_scope.cancel()


async def _end_on_term(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()
            return


def _open_fabric(ports: HostPorts, settings: Settings, cwd: Path) -> AbstractAsyncContextManager[Fabric]:
    from pi_fabric.compose import open_fabric  # noqa: PLC0415 - the first answer must not wait for it

    is_trusted = settings.trust == "stored"
    return open_fabric(
        ports=ports, config=settings.config, cwd=cwd, environ=settings.environ, is_trusted=is_trusted
    )


def load_settings(cwd: Path, environ: Mapping[str, str], is_trusted: bool) -> Settings:
    """Read `fabric.json` of the user and, as far as it is trusted, of the project. Blocking."""
    from pi_fabric.config import load_config  # noqa: PLC0415 - as above

    trust = trust_state(cwd, environ, is_trusted=is_trusted)
    loaded = load_config(cwd=cwd, environ=environ, trust=trust)
    return Settings(
        config=loaded.config,
        trust=trust,
        notices=tuple(map(str, (*loaded.notices, *loaded.corrections))),
        environ=environ,
    )


if __name__ == "__main__":
    main()
