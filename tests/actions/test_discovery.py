from collections.abc import Sequence

import pytest

from pi_fabric.actions.discovery import Discovery
from pi_fabric.actions.registry import Absence, Registry
from pi_fabric.base.errors import FabricError, InvalidArguments, Unavailable, UnknownAction
from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.protocol.actions import Action, CallContext


class Shelf:
    """A provider that offers names and serves nothing."""

    def __init__(self, name: str, **actions: str) -> None:
        self.name = name
        self.description = f"the {name} provider"
        self._actions = actions

    async def actions(self) -> Sequence[Action]:
        return [
            Action(name=name, description=description, risk="read", input_schema={"type": "object"})
            for name, description in self._actions.items()
        ]

    async def invoke(self, name: str, args: JsonObject, context: CallContext) -> Json:
        raise FabricError("not here")


def registry() -> Registry:
    return Registry(
        [
            Shelf("pi", read="Read a file", grep="Search files", bash="Run a command"),
            Shelf("mesh", read="Read events", publish="Tell a topic"),
            Shelf("extensions", grep="A better search"),
        ],
        absent={"memory": Absence(reason="memory.* is switched off", hint="Set memory.enabled to true.")},
    )


async def discovery(*hidden: str) -> Discovery:
    return Discovery(await registry().catalogue(), hidden=frozenset(hidden))


def refs(found: Sequence[JsonObject]) -> list[str]:
    return [action["ref"] for action in found]


@pytest.mark.anyio
@pytest.mark.requirement("discovery:providers:sorted")
async def test_providers_are_sorted_and_shut_ones_are_not_shown() -> None:
    assert [item["name"] for item in (await discovery()).providers()] == ["extensions", "mesh", "pi"]
    assert [item["name"] for item in (await discovery("pi", "extensions")).providers()] == ["mesh"]


@pytest.mark.anyio
@pytest.mark.requirement("discovery:list:filters")
async def test_a_listing_is_filtered_by_provider_and_words() -> None:
    found = await discovery()
    assert refs(found.list({"provider": "mesh"})) == ["mesh.read", "mesh.publish"]
    assert refs(found.list({"query": "SEARCH"})) == ["pi.grep", "extensions.grep"]
    with pytest.raises(UnknownAction, match="mesh"):
        found.list({"provider": "mehs"})


@pytest.mark.anyio
@pytest.mark.requirement("discovery:list:limit")
@pytest.mark.parametrize(("limit", "count"), [(2, 2), (0, 1), (-5, 1), (5000, 6), (None, 6), ("x", 6)])
async def test_the_limit_of_a_listing_is_clamped(limit: object, count: int) -> None:
    assert len((await discovery()).list({"limit": limit})) == count


@pytest.mark.anyio
@pytest.mark.requirement("discovery:search:ranking")
async def test_a_search_ranks_the_exact_reference_first_and_ties_by_reference() -> None:
    found = await discovery()
    assert refs(found.search({"query": "read"})) == ["mesh.read", "pi.read"]
    assert refs(found.search({"query": "PI.GREP"})) == ["pi.grep"]
    assert refs(found.search({"query": "pi"}))[:3] == ["pi.bash", "pi.grep", "pi.read"]
    assert refs(found.search({"query": "file search"})) == ["pi.grep"]


@pytest.mark.anyio
@pytest.mark.requirement("discovery:search:empty")
async def test_a_blank_search_finds_nothing() -> None:
    assert (await discovery()).search({"query": "  "}) == []


@pytest.mark.anyio
@pytest.mark.requirement("discovery:search:override")
async def test_both_the_core_tool_and_its_override_are_found() -> None:
    assert set(refs((await discovery()).search({"query": "grep"}))) == {"pi.grep", "extensions.grep"}


@pytest.mark.anyio
@pytest.mark.requirement("discovery:describe:unknown")
async def test_describing_an_unknown_action_suggests_the_nearest() -> None:
    found = await discovery()
    assert found.describe({"ref": "pi.read"}) == {
        "ref": "pi.read",
        "provider": "pi",
        "name": "read",
        "description": "Read a file",
        "inputSchema": {"type": "object"},
        "risk": "read",
    }
    with pytest.raises(UnknownAction, match=r"Did you mean pi\.read"):
        found.describe({"ref": "pi.reads"})
    with pytest.raises(InvalidArguments):
        found.describe({})


@pytest.mark.anyio
@pytest.mark.requirement("actions:resolve:absent")
async def test_an_absent_namespace_says_why() -> None:
    catalogue = await registry().catalogue()
    with pytest.raises(Unavailable, match=r"switched off.*Set memory\.enabled"):
        await catalogue.resolve("memory.recall")


@pytest.mark.anyio
@pytest.mark.requirement("actions:resolve:unknown")
@pytest.mark.parametrize(
    ("ref", "words"),
    [("pi.reed", "Did you mean pi.read"), ("pie.read", "extensions, mesh, pi"), ("read", "provider.action"),
     ("pi.", "no provider"), ("__proto__.x", "no provider")],
)  # fmt: skip
async def test_an_unknown_reference_is_refused_with_what_exists(ref: str, words: str) -> None:
    catalogue = await registry().catalogue()
    with pytest.raises(UnknownAction, match=words.replace(".", r"\.")):
        await catalogue.resolve(ref)


@pytest.mark.requirement("actions:provider:name")
@pytest.mark.parametrize("name", ["", "Pi", "1x", "a b", "__proto__"])
def test_a_provider_with_an_unusable_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must match"):
        Registry([Shelf(name)])
