import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.compaction.instructions import (
    Decoded,
    InstructionError,
    InstructionPolicy,
    decode_instructions,
)
from pi_fabric.compaction.request import (
    MAX_INSTRUCTIONS_BYTES,
    MAX_PRESERVE_ITEMS,
    MAX_SOURCE_BYTES,
    PI_VCC_SENTINEL,
    REQUEST_PREFIX,
)

SCALARS = st.none() | st.booleans() | st.floats() | st.text(st.characters(exclude_categories=()))
NEAR_JSON = st.text(st.sampled_from('{}[]":,\\u0dD8eE1.-tn \n\ufeffé😀\ud83d'), max_size=80)
NEAR_REQUEST = st.builds(
    '{{"version":1,{0}"preserve":[{1}],"instructions":"{2}"{3}}}'.format,
    st.sampled_from(["", '"x":1,', '"version":1,', '"\\u0076ersion":1,']),
    NEAR_JSON,
    NEAR_JSON,
    NEAR_JSON,
)


def decoded(source: str | None) -> Decoded:
    found = decode_instructions(source)
    assert isinstance(found, Decoded)
    return found


def refusal(payload: str) -> str:
    found = decode_instructions(REQUEST_PREFIX + payload)
    assert isinstance(found, InstructionError)
    return found.code


@pytest.mark.requirement("compaction:instructions:none")
@pytest.mark.parametrize("source", [None, ""])
def test_no_instructions_show_nothing(source: str | None) -> None:
    assert decoded(source) == Decoded(policy=InstructionPolicy())


@pytest.mark.requirement("compaction:instructions:plain")
def test_plain_text_is_shown_on_one_line() -> None:
    found = decoded(" keep \t the\n\nplan\ufeff")

    assert found.lines == ("keep the plan",)
    assert found.policy == InstructionPolicy(mode="plain", canonicalized=True, source_bytes=13)


@pytest.mark.requirement("compaction:instructions:plain")
def test_plain_text_that_needs_no_change_says_so() -> None:
    assert decoded("keep it").policy == InstructionPolicy(mode="plain", source_bytes=7)


def test_plain_text_of_blanks_shows_nothing() -> None:
    found = decoded(" \n ")

    assert found.lines == ()
    assert found.policy == InstructionPolicy(mode="plain", canonicalized=True)


@pytest.mark.requirement("compaction:instructions:plain-bound")
def test_plain_text_is_cut_within_its_bound() -> None:
    found = decoded("é" * 5000)

    assert found.lines == ("é" * 4094 + "…",)
    assert found.policy == InstructionPolicy(
        mode="plain", canonicalized=True, source_bytes=10_000, truncated=True
    )


@pytest.mark.requirement("compaction:instructions:sentinel")
def test_the_sentinel_is_ordinary_text_to_the_decoder() -> None:
    assert decoded(PI_VCC_SENTINEL).lines == (PI_VCC_SENTINEL,)


@pytest.mark.requirement("compaction:instructions:prefix")
@pytest.mark.parametrize(
    "source", [f" {REQUEST_PREFIX}{{}}", REQUEST_PREFIX[:-1], REQUEST_PREFIX.replace("v1", "v2")]
)
def test_what_does_not_begin_with_the_exact_prefix_is_plain(source: str) -> None:
    assert decoded(source).policy.mode == "plain"


@pytest.mark.requirement("compaction:instructions:typed")
def test_a_typed_request_gives_a_line_per_value_with_its_address() -> None:
    found = decoded(REQUEST_PREFIX + '{"version":1,"instructions":" a\\nb ","preserve":["","x","\\ty z "]}')

    assert found.lines == ("a b", "- x [preserve:1]", "- y z [preserve:2]")
    assert found.policy == InstructionPolicy(
        mode="typed-v1", canonicalized=True, source_bytes=7, preserve_count=3
    )


@pytest.mark.requirement("compaction:instructions:typed")
def test_as_many_items_and_bytes_as_allowed_are_shown() -> None:
    items = ",".join(['"x"'] * 15 + [f'"{"é" * 1024}"'])

    found = decoded(REQUEST_PREFIX + f'{{"version":1,"instructions":"{"i" * 8192}","preserve":[{items}]}}')

    assert len(found.lines) == 17
    assert found.policy.to_json() == {
        "mode": "typed-v1",
        "canonicalized": False,
        "sourceBytes": 8192 + 15 + 2048,
        "truncated": False,
        "preserveCount": 16,
        "omittedPreserveCount": 0,
    }


def test_a_typed_request_that_needs_no_change_says_so() -> None:
    policy = decoded(REQUEST_PREFIX + '{"preserve":["日本"],"version":10e-1}').policy

    assert policy == InstructionPolicy(mode="typed-v1", source_bytes=6, preserve_count=1)


@pytest.mark.requirement("compaction:instructions:codes")
@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ("{", "malformed-json"),
        ("\ufeff{}", "malformed-json"),
        ('{"version":1,"version":1}', "duplicate-field"),
        ('{"version":1,"\\u0076ersion":1}', "duplicate-field"),
        ('{"version":1,"instructions":"\\ud800"}', "invalid-unicode"),
        ("[" * 40, "structure-too-complex"),
        ("[]", "invalid-object"),
        ("null", "invalid-object"),
        ('{"version":1,"other":0}', "unknown-field"),
        ("{}", "unsupported-version"),
        ('{"version":true}', "unsupported-version"),
        ('{"version":"1"}', "unsupported-version"),
        ('{"version":1,"instructions":null}', "invalid-type"),
        ('{"version":1,"preserve":{}}', "invalid-type"),
        ('{"version":1,"preserve":["a",1]}', "invalid-type"),
        (f'{{"version":1,"preserve":["a"{",1" * 16}]}}', "preserve-too-many"),
        (f'{{"version":1,"instructions":"{"é" * 4097}"}}', "instructions-too-large"),
        (f'{{"version":1,"preserve":["{"é" * 1025}"]}}', "preserve-item-too-large"),
        ("x" * MAX_SOURCE_BYTES, "encoded-source-too-large"),
    ],
)
def test_each_broken_rule_has_its_code(payload: str, code: str) -> None:
    assert refusal(payload) == code


@pytest.mark.requirement("compaction:instructions:order")
@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ('{"version":2,"other":0}', "unknown-field"),
        ('{"version":2,"instructions":5}', "unsupported-version"),
        ('{"version":1,"preserve":5,"instructions":5}', "invalid-type"),
        (f'{{"version":1,"preserve":[{"1," * 16}1],"instructions":5}}', "invalid-type"),
        (f'{{"version":1,"instructions":"{"x" * 8193}","preserve":[1]}}', "invalid-type"),
        (
            f'{{"version":1,"preserve":["{"x" * 2049}"],"instructions":"{"x" * 8193}"}}',
            "instructions-too-large",
        ),
        ('{"version":1,"a":{"b":1,"b":2},"c"}', "duplicate-field"),
        ('{"version":1,"a":"\\udfff","version":1}', "invalid-unicode"),
        (f'{{"version":1,"preserve":[{"1," * 4095}1],"x":0}}', "structure-too-complex"),
    ],
)
def test_the_first_rule_in_the_order_of_the_protocol_decides(payload: str, code: str) -> None:
    assert refusal(payload) == code


@pytest.mark.requirement("compaction:instructions:sealed")
def test_a_refusal_says_what_is_wrong_and_repeats_nothing() -> None:
    source = REQUEST_PREFIX + '{"version":1,"secret":"hunter2"}'
    found = decode_instructions(source)

    assert isinstance(found, InstructionError)
    assert found.message == "only version, instructions and preserve may be sent"
    assert found.source_bytes == len(source)


@given(payload=NEAR_JSON | NEAR_REQUEST)
@pytest.mark.requirement("compaction:instructions:total")
def test_any_text_decodes_or_is_refused_within_bounds(payload: str) -> None:
    for source in (payload, REQUEST_PREFIX + payload):
        found = decode_instructions(source)
        assert found == decode_instructions(source)
        if isinstance(found, Decoded):
            assert sum(map(utf8_bytes, found.lines)) <= MAX_SOURCE_BYTES + MAX_INSTRUCTIONS_BYTES
            assert len(found.lines) <= 1 + MAX_PRESERVE_ITEMS
            assert not any("\n" in line for line in found.lines)
        else:
            assert found.source_bytes == utf8_bytes(source)


@pytest.mark.requirement("compaction:instructions:total")
@pytest.mark.parametrize("bomb", ["[", '{"a":', "[[],", '"\\', '"\\u', "-", "0.", "1e", "\\", "😀", " "])
def test_bombs_are_refused(bomb: str) -> None:
    for size in (MAX_SOURCE_BYTES // 2 // utf8_bytes(bomb), MAX_SOURCE_BYTES):
        assert isinstance(decode_instructions(REQUEST_PREFIX + bomb * size), InstructionError)
