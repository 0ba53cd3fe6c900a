from pathlib import Path

import pytest

from pi_fabric.base.errors import (
    ConfigError,
    Denied,
    FabricError,
    HostError,
    InvalidArguments,
    LimitReached,
    RequestError,
    SandboxError,
    StoreError,
    ToolFailed,
    Unavailable,
    UnknownAction,
)

EXAMPLES: list[tuple[FabricError, str, str]] = [
    (ConfigError(Path("/f"), "is bad"), "config_error", "/f: is bad"),
    (ConfigError(Path("/f"), "is bad", pointer="a.b"), "config_error", "/f: a.b: is bad"),
    (RequestError("pi.read", "is closed"), "request_error", "pi.read: is closed"),
    (
        UnknownAction("pi.red", "is unknown.", suggestions=["pi.read", "pi.edit"]),
        "unknown_action",
        "pi.red: is unknown. Did you mean pi.read or pi.edit?",
    ),
    (InvalidArguments("pi.read", ["a: x", "b: y"]), "invalid_arguments", "pi.read: a: x; b: y"),
    (Denied("pi.bash", "execute", "the user said no"), "denied", "pi.bash: the user said no"),
    (
        LimitReached("a result", 100.0, "bytes", hint="ask for less"),
        "limit_reached",
        "a result is limited to 100 bytes; ask for less",
    ),
    (Unavailable("no compiler", "Install one."), "unavailable", "no compiler. Install one."),
    (Unavailable("no compiler", ""), "unavailable", "no compiler"),
    (SandboxError("memory", "gone"), "sandbox_error", "the sandbox failed (memory): gone"),
    (StoreError(Path("/s"), "is torn"), "store_error", "/s: is torn"),
    (HostError(-1, "no", {"a": 1}), "host_error", "no"),
    (ToolFailed("pi.read", "no such file"), "tool_failed", "no such file"),
]


@pytest.mark.parametrize(("error", "code", "message"), EXAMPLES)
def test_each_error_has_its_code_and_says_what_and_where(error: FabricError, code: str, message: str) -> None:
    assert (error.code, error.message, str(error)) == (code, message, message)


def test_codes_tell_the_kinds_of_error_apart() -> None:
    codes = {type(error): error.code for error, _, _ in EXAMPLES}

    assert len(set(codes.values())) == len(codes)


def test_a_limit_of_a_million_is_written_out() -> None:
    assert "1000000 bytes" in LimitReached("a result", 1_000_000, "bytes").message
