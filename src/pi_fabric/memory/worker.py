"""A process that builds records: `python -m pi_fabric.memory.worker`.

The first line of its input is an `Order`, each line after it a list of `Task`; each is answered by a line
with a list of `Built`, or with a text when the index cannot be written. It ends when its input does.
"""

import sys
from pathlib import Path

import msgspec

from pi_fabric.memory.building import Builder, Options, Task
from pi_fabric.memory.cache import Cache


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What all tasks of a worker have in common."""

    folder: str
    """Of the index."""
    options: Options


def main() -> None:
    """Serve until the input ends."""
    source, answers = sys.stdin.buffer, sys.stdout.buffer
    order = msgspec.json.decode(source.readline(), type=Order)
    builder = Builder(Cache(Path(order.folder)), order.options)
    decoder = msgspec.json.Decoder(list[Task])
    while line := source.readline():
        try:
            answer = builder.build(decoder.decode(line))
        except OSError as error:
            answer = str(error)
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
