import json
from pathlib import Path

import pytest

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.config import FabricConfig, normalize
from pi_fabric.config.trust import needs_trust, stored_trust, without_widening


class Place:
    """A home folder and a project below it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.agent = self.home / ".pi" / "agent"
        self.project = root / "work" / "project"
        self.agent.mkdir(parents=True)
        (self.project / ".pi").mkdir(parents=True)
        self.environ = {"HOME": str(self.home)}

    def decide(self, decisions: dict[Path, Json]) -> None:
        store = {str(path): decision for path, decision in decisions.items()}
        (self.agent / "trust.json").write_text(json.dumps(store))

    def needs_trust(self) -> None:
        (self.project / ".pi" / "settings.json").write_text("{}")

    @property
    def state(self) -> str:
        return stored_trust(self.project, self.environ).state


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.requirement("config:trust:default")
def test_a_folder_with_nothing_for_pi_to_load_is_trusted_by_default(place: Place) -> None:
    (place.project / ".pi" / "fabric.json").write_text("{}")

    assert place.state == "default"


@pytest.mark.requirement("config:trust:ask-means-no")
@pytest.mark.parametrize("setting", [None, "ask", "never", 5])
def test_a_folder_that_pi_would_ask_about_is_not_trusted(place: Place, setting: Json) -> None:
    place.needs_trust()
    if setting is not None:
        (place.agent / "settings.json").write_text(json.dumps({"defaultProjectTrust": setting}))

    assert place.state == "untrusted"


@pytest.mark.requirement("config:trust:ask-means-no")
def test_the_user_may_trust_every_folder_by_default(place: Place) -> None:
    place.needs_trust()
    (place.agent / "settings.json").write_text('{"defaultProjectTrust": "always"}')

    assert place.state == "default"


@pytest.mark.requirement("config:trust:nearest-ancestor")
@pytest.mark.parametrize("decided", [True, False])
def test_the_nearest_stored_decision_wins(place: Place, decided: bool) -> None:
    place.needs_trust()
    place.decide(
        {place.project.parent: decided, place.project.parent.parent: not decided, place.project: None}
    )

    assert place.state == ("stored" if decided else "untrusted")


@pytest.mark.requirement("config:trust:nearest-ancestor")
def test_a_refusal_counts_even_where_pi_has_nothing_to_load(place: Place) -> None:
    place.decide({place.project: False})

    assert place.state == "untrusted"


@pytest.mark.requirement("config:trust:nearest-ancestor")
def test_a_decision_about_a_name_that_begins_alike_is_another_folders(place: Place) -> None:
    place.needs_trust()
    place.decide({place.project.with_name("proj"): True})

    assert place.state == "untrusted"


@pytest.mark.requirement("config:trust:nearest-ancestor")
def test_decisions_are_about_the_folder_that_a_link_leads_to(place: Place, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(place.project)
    place.decide({place.project: True})

    assert stored_trust(link, place.environ).state == "stored"


@pytest.mark.requirement("config:trust:doubt")
def test_a_store_that_cannot_be_read_trusts_nothing_and_is_reported(place: Place) -> None:
    store = place.agent / "trust.json"
    store.write_text("{")
    trust = stored_trust(place.project, place.environ)

    assert trust.state == "untrusted"
    assert [file.path for file in trust.unusable] == [store]


@pytest.mark.requirement("config:trust:what-pi-asks-about")
@pytest.mark.parametrize(
    "entry",
    [
        "settings.json",
        "mcp.json",
        "extensions",
        "skills",
        "prompts",
        "themes",
        "SYSTEM.md",
        "APPEND_SYSTEM.md",
    ],
)
def test_what_pi_would_load_needs_trust(place: Place, entry: str) -> None:
    assert not needs_trust(place.project, place.environ)
    (place.project / ".pi" / entry).mkdir()

    assert needs_trust(place.project, place.environ)


@pytest.mark.requirement("config:trust:what-pi-asks-about")
def test_skills_in_a_folder_above_need_trust_but_the_users_own_do_not(place: Place) -> None:
    (place.home / ".agents" / "skills").mkdir(parents=True)
    inside_home = place.home / "project"
    inside_home.mkdir()
    assert not needs_trust(inside_home, place.environ)
    (place.project.parent / ".agents" / "skills").mkdir(parents=True)

    assert needs_trust(place.project, place.environ)


@pytest.mark.requirement("config:trust:widening")
def test_keys_that_always_widen_are_left_out_whatever_their_value() -> None:
    project: JsonObject = {
        "executor": {"runtime": "quickjs", "timeoutMs": 5000},
        "mcp": {
            "enabled": False,
            "configPath": "x",
            "disableOAuth": True,
            "allowDynamicServers": False,
            "callTimeoutMs": 1000,
        },
        "subagents": {"claude": {"binary": "x", "model": "m"}, "maxDepth": 1},
        "mesh": {"root": "x", "url": "x", "enabled": False},
        "memory": {"indexDir": "x", "maxSessions": 3},
        "schema": {"trustedCommands": {}, "maxFiles": 3},
    }
    kept, left_out = without_widening(project, FabricConfig())

    assert kept == {
        "executor": {"timeoutMs": 5000},
        "mcp": {},
        "subagents": {"claude": {"model": "m"}, "maxDepth": 1},
        "mesh": {"enabled": False},
        "memory": {"maxSessions": 3},
        "schema": {"maxFiles": 3},
    }
    assert [key.name for key in left_out] == [
        "executor.runtime",
        "mcp.enabled",
        "mcp.configPath",
        "mcp.disableOAuth",
        "mcp.allowDynamicServers",
        "mcp.callTimeoutMs",
        "subagents.claude.binary",
        "mesh.root",
        "mesh.url",
        "memory.indexDir",
        "schema.trustedCommands",
    ]


@pytest.mark.requirement("config:trust:looser-only")
@pytest.mark.parametrize(
    ("mine", "theirs", "counts"),
    [
        ("ask", "allow", False),
        ("ask", "ask", True),
        ("ask", "deny", True),
        ("deny", "ask", False),
        ("allow", "deny", True),
        ("ask", "nonsense", False),
        ("ask", None, False),
    ],
)
def test_an_approval_may_be_made_stricter_only(mine: str, theirs: Json, counts: bool) -> None:
    base = normalize({"approvals": {"write": mine}}).config
    kept, left_out = without_widening({"approvals": {"write": theirs}}, base)

    assert ("write" in kept["approvals"]) is counts
    assert [key.name for key in left_out] == ([] if counts else ["approvals.write"])


@pytest.mark.requirement("config:trust:looser-only")
@pytest.mark.parametrize(
    ("mine", "theirs", "counts"),
    [
        ("audit", "off", False),
        ("audit", "enforce", True),
        ("enforce", "audit", False),
        ("off", "audit", True),
    ],
)
def test_the_schema_mode_may_be_made_stricter_only(mine: str, theirs: str, counts: bool) -> None:
    base = normalize({"schema": {"mode": mine}}).config
    kept, _ = without_widening({"schema": {"mode": theirs}}, base)

    assert ("mode" in kept["schema"]) is counts
