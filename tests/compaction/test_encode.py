import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.bounds import utf8_bytes
from pi_fabric.base.jstext import collapse
from pi_fabric.compaction.encode import encode_request
from pi_fabric.compaction.instructions import Decoded, decode_instructions
from pi_fabric.compaction.request import MAX_SOURCE_BYTES, REQUEST_PREFIX, CompactRequest, RequestRefused

# A control character is written as six: sixteen such items still fit.
TEXTS = st.text(max_size=100)
REQUESTS = st.builds(
    CompactRequest,
    instructions=st.none() | TEXTS,
    preserve=st.none() | st.lists(TEXTS, max_size=16).map(tuple),
)


@pytest.mark.requirement("compaction:encode:form")
def test_a_request_is_the_prefix_and_its_json() -> None:
    request = CompactRequest(instructions='say "hi" 日本', preserve=("a\\b",))

    assert encode_request(request) == (
        REQUEST_PREFIX + '{"version":1,"instructions":"say \\"hi\\" 日本","preserve":["a\\\\b"]}'
    )


@pytest.mark.requirement("compaction:encode:form")
def test_what_is_absent_is_not_written() -> None:
    assert encode_request(CompactRequest()) == REQUEST_PREFIX + '{"version":1}'
    assert encode_request(CompactRequest(preserve=())) == REQUEST_PREFIX + '{"version":1,"preserve":[]}'


@pytest.mark.requirement("compaction:encode:refusals")
@pytest.mark.parametrize(
    ("request_", "refusal"),
    [
        (CompactRequest(instructions="\ud800"), "invalid-unicode"),
        (CompactRequest(preserve=("\udfff",)), "invalid-unicode"),
        (CompactRequest(instructions="x" * 8193), "instructions-too-large"),
        (CompactRequest(preserve=("é" * 1025,)), "preserve-item-too-large"),
        (CompactRequest(preserve=("a",) * 17), "preserve-too-many"),
        (CompactRequest(preserve=("\x01" * 1000,) * 8), "encoded-source-too-large"),
        (CompactRequest(preserve=("é" * 1024,) * 8), "encoded-source-too-large"),
    ],
)
def test_what_the_decoder_would_refuse_is_not_encoded(request_: CompactRequest, refusal: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        encode_request(request_)

    assert caught.value.refusal == refusal


@given(request_=REQUESTS)
@pytest.mark.requirement("compaction:encode:round-trip")
def test_what_is_encoded_is_decoded(request_: CompactRequest) -> None:
    encoded = encode_request(request_)

    assert utf8_bytes(encoded) <= MAX_SOURCE_BYTES
    found = decode_instructions(encoded)
    assert isinstance(found, Decoded)
    items = enumerate(map(collapse, request_.preserve or ()))
    shown = [collapse(request_.instructions or "")] + [
        f"- {item} [preserve:{n}]" for n, item in items if item
    ]
    assert list(found.lines) == [line for line in shown if line]
