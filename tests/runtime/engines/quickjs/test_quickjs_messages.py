"""Lines and frames: whatever comes out of the sandbox is either understood or refused by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import UNDEFINED, encode
from pi_fabric.runtime.engines.quickjs import frames
from pi_fabric.runtime.engines.quickjs.messages import (
    BadMessage,
    Call,
    Notice,
    Returned,
    Threw,
    UnreadableCall,
    read_messages,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_every_kind_of_line_is_understood() -> None:
    lines = b'[0,1,"pi.read",{"path":"a"}]\n[1,"log","x",2]\n[2,[1]]\n[2]\n[3,"E","m","s"]\n[4,"I","m",""]\n'
    assert read_messages(lines) == [
        Call(1, "pi.read", {"path": "a"}),
        Notice("log", ["x", 2]),
        Returned([1]),
        Returned(UNDEFINED),
        Threw("E", "m", "s"),
        Threw("I", "m", "", is_out_of_memory=True),
    ]


@given(st.binary(max_size=200) | JSON.map(encode))
def test_any_other_line_is_refused_and_nothing_else_is_raised(line: bytes) -> None:
    try:
        messages = read_messages(line)
    except BadMessage:
        return
    assert all(isinstance(message, Call | Notice | Returned | Threw) for message in messages)


@given(st.integers(1, 10**6), st.text(), JSON)
def test_a_call_survives_the_way_through_a_line(number: int, ref: str, args: object) -> None:
    assert read_messages(encode([0, number, ref, args]) + b"\n") == [Call(number, ref, args)]


def test_nesting_that_cannot_be_decoded_is_named_for_its_own_line_only() -> None:
    deep = b"[" * 20_000 + b"]" * 20_000
    first, second, third = read_messages(b'[0,7,"a",' + deep + b"]\n[2," + deep + b']\n[0,8,"b",1]\n')
    assert isinstance(first, UnreadableCall)
    assert first.id == 7
    assert isinstance(second, Threw)
    assert second.name == "RangeError"
    assert third == Call(8, "b", 1)


@given(st.integers(0, 2**63), st.integers(0, 2**63), st.binary(max_size=50), st.binary(max_size=50))
def test_a_program_frame_gives_back_its_parts(memory: int, seed: int, settings: bytes, script: bytes) -> None:
    frame = frames.pack_program(memory_bytes=memory, seed=seed, settings=settings, script=script)
    size, kind = frames.HEADER.unpack_from(frame)
    payload = frame[frames.HEADER.size :]
    assert (size, kind) == (len(payload), frames.PROGRAM)
    assert frames.unpack_program(payload) == (memory, seed, settings, script)


@given(st.binary(max_size=40))
def test_any_other_payload_is_refused(payload: bytes) -> None:
    try:
        memory, seed, settings, script = frames.unpack_program(payload)
    except ValueError:
        return
    assert frames.PROGRAM_HEADER.pack(memory, seed, len(settings)) + settings + script == payload


def test_a_frame_shorter_than_its_settings_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter than its settings"):
        frames.unpack_program(frames.PROGRAM_HEADER.pack(1, 1, 9) + b"12345678")
