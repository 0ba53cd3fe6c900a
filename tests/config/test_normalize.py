import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.config import KEYS, FabricConfig, normalize
from pi_fabric.config.keys import value_at
from pi_fabric.config.kinds import Integer
from pi_fabric.config.normalize import QUICKJS_MAX_BYTES, drop_misplaced, unknown_keys

GIB = 1024**3
names = st.sampled_from([part for key in KEYS for part in key.path]) | st.text(max_size=3)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5),
    max_leaves=20,
)


def at(path: str, value: Json) -> JsonObject:
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def effective(path: str, value: Json) -> Json:
    return value_at(normalize(at(path, value)).config.to_json(), tuple(path.split(".")))


def messages(value: Json) -> list[str]:
    return [str(correction) for correction in normalize(value).corrections]


@pytest.mark.requirement("config:normalize:total")
@given(anything)
def test_any_value_gives_a_configuration_that_is_taken_as_it_is(value: Json) -> None:
    config = normalize(value).config
    again = normalize(config.to_json())

    assert again.config == config
    assert again.corrections == ()


@pytest.mark.requirement("config:normalize:defaults")
@pytest.mark.parametrize("value", [{}, None, [], 5, "x", {"executor": {}, "subagents": {"claude": {}}}])
def test_what_is_absent_gets_the_default(value: Json) -> None:
    assert normalize(value).config == FabricConfig()


@pytest.mark.requirement("config:normalize:clamp")
@pytest.mark.parametrize(
    "key", [key for key in KEYS if isinstance(key.kind, Integer)], ids=lambda key: key.name
)
def test_an_integer_is_clamped_into_its_range(key: Any) -> None:
    low, high = key.kind.minimum, key.kind.maximum or GIB
    ram = {"ram_bytes": GIB}
    for given_value, used in ((low - 1, low), (low, low), (high, high), (high + 1, high)):
        config = normalize(at(key.name, given_value), **ram).config
        assert key.value_in(config) == used


@pytest.mark.requirement("config:normalize:clamp")
@pytest.mark.parametrize(
    ("ratio", "used"), [(0, 0.25), (0.3, 0.3), (1, 0.85), (-math.inf, 0.65), (math.nan, 0.65)]
)
def test_a_number_is_clamped_into_its_range(ratio: float, used: float) -> None:
    assert effective("compaction.targetContextRatio", ratio) == used


@pytest.mark.requirement("config:normalize:not-an-integer")
@pytest.mark.parametrize("value", [1500.5, "1500", None, True, [1500], {}, math.inf, math.nan])
def test_what_is_no_whole_number_gets_the_default(value: Json) -> None:
    assert effective("executor.timeoutMs", value) == 120_000


@pytest.mark.requirement("config:normalize:not-an-integer")
@pytest.mark.parametrize(
    ("value", "used"), [(1500.0, 1500), (1e300, 900_000), (10**400, 900_000), (-0.0, 1000)]
)
def test_a_number_that_javascript_calls_an_integer_is_one(value: Json, used: int) -> None:
    assert effective("executor.timeoutMs", value) == used


@pytest.mark.requirement("config:normalize:words")
@pytest.mark.parametrize("value", ["PROCESS", "ssh", "", 1, None, ["tmux"]])
def test_a_word_outside_its_set_gets_the_default(value: Json) -> None:
    assert effective("subagents.transport", value) == "process"


@pytest.mark.requirement("config:normalize:words")
@pytest.mark.parametrize("value", ["true", 1, 0, None])
def test_only_true_and_false_are_booleans(value: Json) -> None:
    assert effective("memory.indexThinking", value) is False


@pytest.mark.requirement("config:normalize:blank")
def test_a_blank_string_counts_as_absent() -> None:
    assert effective("subagents.claude.binary", "  ") == "claude"
    assert "model" not in normalize(at("subagents.model", "\t")).config.to_json()["subagents"]
    assert messages(at("subagents.model", "\t")) == []


@pytest.mark.requirement("config:normalize:lists")
def test_a_list_keeps_its_non_empty_strings() -> None:
    assert effective("subagents.defaultTools", ["a", "", 3, None, "a", "b"]) == ["a", "a", "b"]
    assert effective("subagents.defaultTools", []) == []
    assert effective("subagents.defaultTools", "read") == list(FabricConfig().subagents.default_tools)


@pytest.mark.requirement("config:normalize:lists")
def test_the_list_of_visible_tools_has_no_repeats() -> None:
    assert effective("capture.keepVisible", ["b", "a", "b"]) == ["b", "a"]


@pytest.mark.requirement("config:capture:risks")
def test_risks_lie_over_the_defaults_and_a_bad_one_becomes_execute() -> None:
    risks = normalize(at("capture.risks", {"web": "network", "read": "safe", "x": None})).config.capture.risks

    assert risks["web"] == "network"
    assert risks["read"] == risks["x"] == "execute"
    assert risks["grep"] == "read"


@pytest.mark.requirement("config:capture:risks")
@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString", ""])
def test_a_tool_may_have_any_name(name: str) -> None:
    assert normalize(at("capture.risks", {name: "read"})).config.capture.risks[name] == "read"


@pytest.mark.requirement("config:schema:trusted-commands")
def test_a_trusted_command_gets_its_defaults_and_bounds() -> None:
    given_value = {
        "lint": {"command": "make", "args": ["lint", ""], "timeoutMs": 0},
        "a.b-c_1": {"command": "x"},
    }

    assert effective("schema.trustedCommands", given_value) == {
        "lint": {"command": "make", "args": ["lint", ""], "shell": False, "timeoutMs": 1},
        "a.b-c_1": {"command": "x", "args": [], "shell": False, "timeoutMs": 30_000},
    }


@pytest.mark.requirement("config:schema:trusted-commands")
@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("-dash", {"command": "x"}),
        ("with space", {"command": "x"}),
        ("n" * 65, {"command": "x"}),
        ("line\n", {"command": "x"}),
        ("a", "x"),
        ("a", {}),
        ("a", {"command": " "}),
        ("a", {"command": "x", "args": "y"}),
        ("a", {"command": "x", "args": ["y", 1]}),
        ("a", {"command": "x", "args": ["y"] * 65}),
        ("a", {"command": "x", "args": ["y"], "shell": True}),
    ],
)
def test_a_trusted_command_that_does_not_fit_is_left_out(name: str, entry: Json) -> None:
    result = normalize(at("schema.trustedCommands", {name: entry, "ok": {"command": "x"}}))

    assert list(result.config.schema.trusted_commands) == ["ok"]
    assert [(fault.path[-1], fault.used) for fault in result.corrections] == [(name, None)]


@pytest.mark.requirement("config:executor:memory-ceiling")
def test_memory_is_bounded_by_the_machine_and_with_quickjs_by_its_address_space() -> None:
    def limit(runtime: str, ram_bytes: int) -> int:
        executor = {"runtime": runtime, "memoryLimitBytes": 2**60}
        return normalize({"executor": executor}, ram_bytes=ram_bytes).config.executor.memory_limit_bytes

    assert limit("quickjs", GIB) == GIB
    assert limit("quickjs", 64 * GIB) == QUICKJS_MAX_BYTES == 4_294_967_295
    assert limit("node-process", 64 * GIB) == 64 * GIB


@pytest.mark.requirement("config:executor:enforce-forces-quickjs")
def test_schema_enforcement_forces_the_sandbox() -> None:
    value = {
        "schema": {"mode": "enforce"},
        "executor": {"runtime": "node-process", "memoryLimitBytes": 8 * GIB},
    }
    result = normalize(value, ram_bytes=64 * GIB)

    assert result.config.executor.runtime == "quickjs"
    assert result.config.executor.memory_limit_bytes == QUICKJS_MAX_BYTES
    assert [fault.key for fault in result.corrections] == ["executor.runtime", "executor.memoryLimitBytes"]


@pytest.mark.requirement("config:normalize:reported")
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (at("executor.timeoutMs", -1), "executor.timeoutMs: -1 is below the minimum; 1000 is used"),
        (at("ui.maxRows", 99), "ui.maxRows: 99 is above the maximum; 20 is used"),
        (at("ui.widget", "big"), 'ui.widget: "big" is none of auto, always, hidden; "auto" is used'),
        (at("mesh.root", 5), "mesh.root: 5 is not a string; null is used"),
        (at("memory.indexDir", "a\0b"), 'memory.indexDir: "a\\u0000b" holds a NUL character; null is used'),
        (at("mcp", []), "mcp: [] is not an object; {} is used"),
        (
            at("memory.sources", ["x"]),
            'memory.sources: ["x"] names none of pi, claude, codex; ["pi"] is used',
        ),
        (
            at("ui.refreshMs", math.inf),
            "ui.refreshMs: a number too large is not a whole number; 500 is used",
        ),
        (
            at("ui.refreshMs", "x" * 100),
            f'ui.refreshMs: "{"x" * 38}… is not a whole number; 500 is used',
        ),
        (
            at("schema.trustedCommands", {"a": 1}),
            "schema.trustedCommands.a: 1 is not an object; it is left out",
        ),
    ],
)
def test_a_correction_says_the_key_the_bad_value_and_what_is_used(value: Json, message: str) -> None:
    assert messages(value) == [message]


@pytest.mark.requirement("config:own-keys:defaults")
def test_the_keys_of_our_own_have_defaults_and_words() -> None:
    config = FabricConfig()
    assert (config.compaction.fill, config.memory.verify, config.memory.sources) == ("ratio", "stat", ("pi",))
    assert (config.mesh.backend, config.mesh.url) == ("file", None)

    assert effective("memory.sources", ["codex", "pi", "codex", "x"]) == ["pi", "codex"]


@pytest.mark.requirement("config:normalize:objects")
def test_an_object_of_the_wrong_type_counts_as_empty() -> None:
    value, corrections = drop_misplaced(
        {"executor": 5, "capture": {"risks": []}, "subagents": {"claude": None}}
    )

    assert value == {"capture": {}, "subagents": {}}
    assert [fault.key for fault in corrections] == ["executor", "subagents.claude", "capture.risks"]


@pytest.mark.requirement("config:unknown:suggested")
def test_an_unknown_key_is_named_with_the_nearest_one() -> None:
    found, more = unknown_keys(
        {"executor": {"timeoutMS": 1}, "xecutor": {}, "zzz": 1, "capture": {"risks": {"any": 1}}}
    )

    assert [(".".join(key.path), key.suggestion) for key in found] == [
        ("executor.timeoutMS", "executor.timeoutMs"),
        ("xecutor", "executor"),
        ("zzz", None),
    ]
    assert more == 0


def test_many_unknown_keys_are_listed_in_part() -> None:
    found, more = unknown_keys({f"key{number}": number for number in range(1_000)})

    assert (len(found), more) == (10, 990)


def test_names_from_a_file_are_shown_cut_and_without_control_characters() -> None:
    [escape], _ = unknown_keys({"a\x1b[2J": 1})
    [long], _ = unknown_keys({"n" * 100_000: 1})

    assert escape.key == "a\\x1b[2J"
    assert len(long.key) == 40


def test_every_key_has_a_line_about_it_and_accepts_its_own_default() -> None:
    for key in KEYS:
        assert key.description.endswith("."), key.name
        assert key.kind.hint, key.name
        default = key.value_in(FabricConfig())
        assert default is None or key.kind.initial() == default
