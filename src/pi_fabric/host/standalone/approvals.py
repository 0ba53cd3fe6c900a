"""Ask the person at the terminal."""

import sys

import anyio.to_thread

from pi_fabric.protocol.host import ApprovalQuestion


class TerminalApprovals:
    """Asks on standard error and reads the answer from standard input, one question at a time.

    Args:
        is_interactive: False when nobody can answer: input or output is no terminal, or the program
            itself came from standard input.
    """

    def __init__(self, *, is_interactive: bool) -> None:
        self.has_ui = is_interactive
        self._turn = anyio.Lock()

    async def confirm(self, question: ApprovalQuestion) -> bool:
        """True for y or yes; everything else, the end of input too, is a no."""
        async with self._turn:
            return await anyio.to_thread.run_sync(_ask, question, abandon_on_cancel=True)


def _ask(question: ApprovalQuestion) -> bool:
    sys.stderr.write(f"\n{question.ref} {question.detail}\nAllow {question.risk} calls in this run? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
