import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.clock import FakeClock
from pi_fabric.base.errors import InvalidArguments
from pi_fabric.base.jsonvalue import Json
from pi_fabric.compaction.instructions import Decoded, decode_instructions
from pi_fabric.compaction.request import PI_VCC_SENTINEL, REQUEST_PREFIX, RequestRefused
from pi_fabric.compaction.requests import QUIET_ERRORS, CompactRequests, custom_instructions
from pi_fabric.protocol.events import TopicEvent


class Slot:
    """A slot with a clock that stands still and a list of what was published."""

    def __init__(self) -> None:
        self.clock = FakeClock(wall_ms=1_000)
        self.told: list[TopicEvent] = []
        self.requests = CompactRequests(clock=self.clock, publish=self.told.append)

    def end(self, record: Json) -> None:
        """Carry out what waits."""
        assert self.requests.take() is not None
        self.requests.finished(record)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.told]


@pytest.fixture
def slot() -> Slot:
    return Slot()


@pytest.mark.requirement("compact-request:slot:replaced")
def test_a_request_takes_the_place_of_the_one_that_waits(slot: Slot) -> None:
    slot.requests.request(reason="first")
    slot.clock.advance(2)
    intent = slot.requests.request(reason="second", instructions="keep it", preserve=["a"], requested_by="me")
    assert intent == {
        "reason": "second",
        "instructions": "keep it",
        "preserve": ["a"],
        "requestedBy": "me",
        "requestedAt": 3_000,
    }
    assert slot.requests.status() == {"pending": intent}


@pytest.mark.requirement("compact-request:empty:absent")
def test_empty_texts_count_as_absent(slot: Slot) -> None:
    intent = slot.requests.request(reason="", instructions="", requested_by="")
    assert intent == {"requestedBy": "model", "requestedAt": 1_000}
    taken = slot.requests.take()
    assert taken is not None
    assert taken.custom_instructions is None


@pytest.mark.requirement("compact-request:form:plain")
@pytest.mark.parametrize("text", ["Keep the test's name.\nDrop the rest.", PI_VCC_SENTINEL])
def test_instructions_alone_are_handed_on_as_they_are(text: str) -> None:
    assert custom_instructions(text, None) == text


@pytest.mark.requirement("compact-request:form:typed")
@pytest.mark.parametrize("preserve", [["tests/auth.test.ts", "still open"], []])
def test_something_to_preserve_is_handed_on_in_the_typed_form_even_when_empty(preserve: list[str]) -> None:
    encoded = custom_instructions("keep", preserve)
    assert encoded is not None
    assert encoded.startswith(REQUEST_PREFIX)
    decoded = decode_instructions(encoded)
    assert isinstance(decoded, Decoded)
    assert decoded.lines == ("keep", *(f"- {item} [preserve:{n}]" for n, item in enumerate(preserve)))


@pytest.mark.requirement("compact-request:bounds:refused")
@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"instructions": "x" * 8_193}, "instructions-too-large"),
        ({"instructions": "é" * 4_097}, "instructions-too-large"),
        ({"instructions": "\ud800"}, "invalid-unicode"),
        ({"reason": "\udc00"}, "invalid-unicode"),
        ({"instructions": REQUEST_PREFIX + "{"}, "malformed-json"),
        ({"preserve": ["x"] * 17}, "preserve-too-many"),
        ({"preserve": ["é" * 1_025]}, "preserve-item-too-large"),
        ({"preserve": ["\x01" * 1_000] * 8}, "encoded-source-too-large"),
    ],
)
def test_what_a_compaction_would_refuse_is_refused_when_it_is_asked(
    slot: Slot, fields: dict[str, Json], refusal: str
) -> None:
    before = slot.requests.request(reason="earlier")
    with pytest.raises(RequestRefused) as caught:
        slot.requests.request(**fields)
    assert caught.value.refusal == refusal
    assert slot.requests.status() == {"pending": before}
    assert slot.kinds == ["requested"]


@pytest.mark.requirement("compact-request:bounds:names")
@pytest.mark.parametrize("fields", [{"reason": "😀" * 513}, {"requested_by": "x" * 257}])
def test_a_reason_or_name_that_is_too_long_is_refused(slot: Slot, fields: dict[str, str]) -> None:
    with pytest.raises(InvalidArguments, match="characters"):
        slot.requests.request(**fields)


@given(
    instructions=st.none() | st.text(max_size=9_000),
    preserve=st.none() | st.lists(st.text(max_size=2_100), max_size=18),
)
def test_what_is_accepted_is_what_the_compaction_can_follow(
    instructions: str | None, preserve: list[str] | None
) -> None:
    try:
        handed = custom_instructions(instructions, preserve)
    except RequestRefused:
        return
    assert isinstance(decode_instructions(handed), Decoded)


@pytest.mark.requirement("compact-request:commit:committed")
def test_a_compaction_that_was_made_is_recorded_with_its_figures(slot: Slot) -> None:
    slot.requests.request(requested_by="reviewer")
    slot.clock.advance(5)
    slot.end({"summary": "s", "tokensBefore": 90_000, "estimatedTokensAfter": 9_000, "details": {}})
    last = {
        "at": 6_000,
        "requestedBy": "reviewer",
        "status": "committed",
        "summary": "s",
        "tokensBefore": 90_000,
        "estimatedTokensAfter": 9_000,
    }
    assert slot.requests.status() == {"last": last}
    assert slot.kinds == ["requested", "committed"]
    assert {event.topic for event in slot.told} == {"fabric.compact"}


@pytest.mark.parametrize("record", [None, [], {}, {"summary": 3, "tokensBefore": "many"}])
def test_a_result_without_figures_is_still_a_compaction(slot: Slot, record: Json) -> None:
    slot.requests.request()
    slot.end(record)
    assert slot.requests.status()["last"] == {"at": 1_000, "requestedBy": "model", "status": "committed"}


@pytest.mark.requirement("compact-request:commit:failed")
def test_a_compaction_that_failed_is_recorded_with_the_hosts_words(slot: Slot) -> None:
    slot.requests.request()
    slot.end({"error": "no model " + "x" * 5_000})
    last = slot.requests.status()["last"]
    assert last["status"] == "failed"
    assert last["error"].startswith("no model x")
    assert len(last["error"].encode()) <= 1_024
    assert slot.kinds == ["requested", "failed"]


@pytest.mark.requirement("compact-request:commit:quiet")
@pytest.mark.parametrize("words", sorted(QUIET_ERRORS))
def test_a_compaction_that_was_not_needed_is_recorded_as_cancelled_and_not_published(
    slot: Slot, words: str
) -> None:
    slot.requests.request()
    slot.end({"error": words})
    assert slot.requests.status() == {
        "last": {"at": 1_000, "requestedBy": "model", "status": "cancelled", "error": words}
    }
    assert slot.kinds == ["requested"]


@pytest.mark.requirement("compact-request:flight:one")
def test_only_one_request_is_carried_out_at_a_time(slot: Slot) -> None:
    assert slot.requests.take() is None
    slot.requests.request()
    assert slot.requests.take() is not None
    assert slot.requests.take() is None
    assert "pending" in slot.requests.status()


@pytest.mark.requirement("compact-request:flight:newer")
@pytest.mark.parametrize("record", [{"summary": "s"}, {"error": "broken"}, {"error": "Already compacted"}])
def test_a_request_made_during_a_compaction_waits_for_the_next_boundary(slot: Slot, record: Json) -> None:
    slot.requests.request(reason="same")
    assert slot.requests.take() is not None
    slot.requests.request(reason="same")
    slot.requests.finished(record)
    assert slot.requests.status()["pending"]["reason"] == "same"
    assert slot.requests.take() is not None


@pytest.mark.requirement("compact-request:cancel:emptied")
def test_cancelling_empties_the_slot_and_a_compaction_under_way_is_still_recorded(slot: Slot) -> None:
    slot.requests.request()
    slot.requests.cancel()
    assert slot.requests.status() == {}
    assert slot.requests.take() is None
    slot.requests.request()
    assert slot.requests.take() is not None
    slot.requests.cancel()
    slot.requests.finished({"summary": "s"})
    assert slot.requests.status()["last"]["status"] == "committed"
    assert "pending" not in slot.requests.status()


def test_an_ending_without_a_beginning_records_nothing(slot: Slot) -> None:
    slot.requests.request()
    slot.requests.finished({"summary": "late"})
    assert "last" not in slot.requests.status()
    assert "pending" in slot.requests.status()


@pytest.mark.requirement("compact-request:status:snapshot")
def test_a_status_is_a_snapshot_that_nobody_can_change_through_it(slot: Slot) -> None:
    slot.requests.request(preserve=["a"])
    slot.requests.status()["pending"]["preserve"].append("b")
    assert slot.requests.status()["pending"]["preserve"] == ["a"]


def test_nothing_is_told_where_nobody_listens() -> None:
    requests = CompactRequests(clock=FakeClock())
    requests.request()
    assert requests.take() is not None
    requests.finished({})
    assert requests.status()["last"]["status"] == "committed"
