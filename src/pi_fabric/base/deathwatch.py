"""End the children that we could not end ourselves, because we were killed.

A child with a pipe on its standard input notices when we are gone. One without, such as a command of a
program, does not: a small shell watches in our place. Its own standard input is the sign of our life.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Final, Self

import anyio
from anyio.abc import ByteSendStream

from pi_fabric.base.process import DEVNULL, PIPE, child_process

# Reads "+ PGID" and "- PGID"; at the end of its input it kills every group that is left.
WATCH: Final = """
groups=
while read -r sign group; do
  if [ "$sign" = + ]; then groups="$groups $group"; continue; fi
  left=
  for other in $groups; do [ "$other" = "$group" ] || left="$left $other"; done
  groups=$left
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
"""


class DeathWatch:
    """Watches over process groups; an async context manager. Starts its shell at the first group."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._starting = anyio.Lock()
        self._line: ByteSendStream | None = None

    async def __aenter__(self) -> Self:
        """Starts nothing."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the watch; groups that are still watched over are ended by it."""
        await self._stack.aclose()

    @asynccontextmanager
    async def over(self, group: int) -> AsyncGenerator[None]:
        """Watch over a process group for as long as the block is open; its leader's pid is `group`."""
        await self._tell(f"+ {group}")
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await self._tell(f"- {group}")

    async def _tell(self, text: str) -> None:
        async with self._starting:
            if self._line is None:
                argv = ["/bin/sh", "-c", WATCH]
                watch = child_process(argv, stdin=PIPE, stdout=DEVNULL)
                self._line = (await self._stack.enter_async_context(watch)).stdin
            assert self._line is not None
            # A watch that somebody killed is no reason to fail the command.
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                await self._line.send(f"{text}\n".encode())
