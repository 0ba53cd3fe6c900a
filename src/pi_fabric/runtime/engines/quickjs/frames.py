"""Frames between host and worker: a header, then a payload; both sides distrust the other.

    header   4 bytes length of the payload, little endian; 1 byte kind
    PROGRAM  host to worker: PROGRAM_HEADER, settings as JSON, then the script
    ANSWERS  host to worker: `[[id, 0, value] | [id, 1] | [id, 2, {message, code}], ...]`
    others   worker to host: lines of JSON that the guest wrote since the last frame (see messages.py)

Imported by both processes, so nothing but the standard library.
"""

import struct
from typing import Final

HEADER: Final = struct.Struct("<IB")
# Memory cap in bytes, seed of Math.random, length of the settings in bytes.
PROGRAM_HEADER: Final = struct.Struct("<QQI")
# A value of 100 MB passes; what is larger is no result but a mistake, and is refused by name.
MAX_PAYLOAD_BYTES: Final = 128 * 2**20

PROGRAM: Final = ord("p")
ANSWERS: Final = ord("a")

READY: Final = ord("r")
"""The worker can take a program. No payload."""
UNUSABLE: Final = ord("u")
"""The worker cannot start; the payload says why."""
WAITING: Final = ord("w")
"""The program waits for answers and for nothing else."""
TIMED: Final = ord("t")
"""The program waits, and has timers that may wake it."""
STUCK: Final = ord("s")
"""The program waits for something that cannot come: no answer is due and no timer. It is over."""
DONE: Final = ord("d")
"""The program ended; the last line says how."""
INTERRUPTED: Final = ord("i")
"""The program was stopped in the middle of something."""
EXHAUSTED: Final = ord("m")
"""Memory ran out, and not enough was left to say so in the program."""
CRASHED: Final = ord("x")
"""The engine in the sandbox failed; the payload says how."""


def pack(kind: int, payload: bytes) -> bytes:
    """One whole frame."""
    return HEADER.pack(len(payload), kind) + payload


def pack_program(*, memory_bytes: int, seed: int, settings: bytes, script: bytes) -> bytes:
    """The frame that starts a program."""
    return pack(PROGRAM, PROGRAM_HEADER.pack(memory_bytes, seed, len(settings)) + settings + script)


def unpack_program(payload: bytes) -> tuple[int, int, bytes, bytes]:
    """Memory cap in bytes, seed, settings and script of a PROGRAM frame.

    Raises:
        ValueError: If the payload is not one.
    """
    if len(payload) < PROGRAM_HEADER.size:
        raise ValueError("a program frame is shorter than its header")
    memory_bytes, seed, settings_bytes = PROGRAM_HEADER.unpack_from(payload)
    script_at = PROGRAM_HEADER.size + settings_bytes
    if script_at > len(payload):
        raise ValueError("a program frame is shorter than its settings")
    return memory_bytes, seed, payload[PROGRAM_HEADER.size : script_at], payload[script_at:]
