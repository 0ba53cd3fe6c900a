"""The last resort: ends this process after Pi, also when its event loop hangs.

Everything that ends in order runs on the loop; a loop that hangs sees neither the closed line nor a
signal. So a thread of its own looks at the line.
"""

import os
import select
import threading

# The orderly end has three bounded steps of two seconds each; this comes after them.
GRACE_S = 8.0
EXIT_CODE = 70
# Pi closes its side: of a socket (Linux tells it although bytes are unread), or of a pipe.
_CLOSED = getattr(select, "POLLRDHUP", 0)


def watch_end(read_fd: int, *, grace_s: float = GRACE_S) -> None:
    """Exit hard once the other side of `read_fd` has been closed for `grace_s` seconds.

    Never blocks and needs no end: the thread goes with the process.
    """
    threading.Thread(target=_watch, args=(read_fd, grace_s), daemon=True, name="end-watch").start()


def _watch(read_fd: int, grace_s: float) -> None:
    poller = select.poll()
    # Without a flag it still hears of a hang-up.
    poller.register(read_fd, _CLOSED)
    poller.poll()
    threading.Event().wait(grace_s)
    # Without a word: whoever would read it is gone, and the attempt would fail.
    os._exit(EXIT_CODE)
