from collections.abc import Sequence

import pytest
from told_sessions import path, user

from pi_fabric.compaction.assemble import assemble
from pi_fabric.compaction.section import Section
from pi_fabric.history.events.model import Event
from pi_fabric.history.events.normalize import normalize


def counts_events(events: Sequence[Event], section: Section) -> list[str]:
    return [f"{len(events)}\nevents"] if section.name == "goal" else []


@pytest.mark.requirement("summary:enrich:notes")
def test_notes_follow_the_lines_of_their_section():
    events = normalize(path([user("goal"), user("more")]))
    assembled = assemble(events, enrichers=[counts_events])
    assert "[Session Goal]\n> goal\n- [e2] more\nNote: 2 events\n\n" in assembled.text


@pytest.mark.requirement("summary:enrich:notes")
def test_an_enricher_has_four_notes_in_a_section():
    events = normalize(path([user("goal")]))
    assembled = assemble(events, enrichers=[lambda _events, _section: [f"n{n}" for n in range(9)]])
    assert "Note: n3" in assembled.text
    assert "Note: n4" not in assembled.text
