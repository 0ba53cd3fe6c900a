import pytest

from pi_fabric.actions.arguments import MAX_PROBLEMS, repair, validate
from pi_fabric.base.errors import InvalidArguments
from pi_fabric.protocol.actions import Action
from pi_fabric.providers.compact import ACTIONS as COMPACT_ACTIONS
from pi_fabric.providers.pi import ACTIONS

PI = {action.name: action for action in ACTIONS}
FOREIGN = Action(
    name="tool",
    description="somebody else's tool",
    risk="network",
    input_schema={
        "type": "object",
        "properties": {
            "count": {"type": "integer"},
            "deep": {
                "type": "object",
                "properties": {"mode": {"enum": ["fast", "slow"]}},
                "required": ["mode"],
            },
            "tags": {"type": "array", "items": {"type": "string"}},
            "flag": {"type": "boolean"},
        },
        "additionalProperties": False,
    },
)


def problems(action: Action, args: dict[str, object]) -> tuple[str, ...]:
    with pytest.raises(InvalidArguments) as caught:
        validate(action, f"x.{action.name}", args)
    return caught.value.problems


@pytest.mark.requirement("actions:repair:text")
@pytest.mark.parametrize(
    ("args", "repaired"),
    [
        ({"path": "a", "limit": "25"}, {"path": "a", "limit": 25}),
        ({"path": "a", "offset": None}, {"path": "a"}),
        ({"file": "a", "max": "3"}, {"path": "a", "limit": 3}),
        ({"path": "a", "limit": "many"}, {"path": "a", "limit": "many"}),
    ],
)
def test_near_misses_are_repaired_from_the_schema(
    args: dict[str, object], repaired: dict[str, object]
) -> None:
    assert repair(PI["read"], args) == repaired


@pytest.mark.requirement("actions:repair:text")
def test_lists_and_flags_that_arrived_as_text_are_read() -> None:
    assert repair(FOREIGN, {"tags": "one", "flag": "true"}) == {"tags": ["one"], "flag": True}
    assert repair(FOREIGN, {"tags": '["a", "b"]'}) == {"tags": ["a", "b"]}
    assert repair(PI["edit"], {"path": "p", "edits": {"old": "a", "new": "b"}}) == {
        "path": "p",
        "edits": [{"oldText": "a", "newText": "b"}],
    }


@pytest.mark.requirement("actions:repair:unchanged")
def test_valid_arguments_come_back_as_the_same_object() -> None:
    args = {"path": "a", "edits": [{"oldText": "o", "newText": "n"}]}
    assert repair(PI["edit"], args) is args


@pytest.mark.requirement("actions:repair:no-object")
@pytest.mark.parametrize("args", [None, 5, "text", ["a"]])
def test_anything_but_an_object_counts_as_no_arguments(args: object) -> None:
    assert repair(FOREIGN, args) == {}


@pytest.mark.requirement("actions:validate:path")
def test_an_unknown_argument_is_refused_with_the_nearest_name() -> None:
    assert problems(PI["read"], {"path": "a", "limits": 3}) == (
        "limits: unknown argument; did you mean limit?",
    )


@pytest.mark.requirement("actions:validate:path")
def test_problems_name_the_path_inside_lists_and_objects() -> None:
    found = problems(PI["edit"], {"path": "p", "edits": [{"oldText": "a", "newText": 5}]})
    assert found == ("edits[0].newText: must be string, got 5",)
    assert problems(FOREIGN, {"deep": {"mode": "fats"}}) == (
        'deep.mode: must be one of fast, slow, got "fats"; did you mean fast?',
    )


@pytest.mark.requirement("actions:validate:required")
def test_what_is_too_long_is_told_by_its_bound_and_not_by_its_value() -> None:
    (request, *_) = COMPACT_ACTIONS
    args: dict[str, object] = {"instructions": "a" * 9_000, "preserve": ["a" * 500] * 17}
    assert problems(request, args) == (
        "instructions: must have at most 8192 characters, got 9000",
        "preserve: must have at most 16 items, got 17",
    )


def test_each_missing_argument_is_named_once() -> None:
    assert problems(PI["write"], {}) == (
        "path: is required and missing",
        "content: is required and missing",
    )


@pytest.mark.requirement("actions:validate:five")
def test_at_most_five_problems_are_told() -> None:
    assert len(problems(FOREIGN, {f"unknown{n}": n for n in range(20)})) == MAX_PROBLEMS


def test_only_paths_that_the_schema_names_may_be_recorded() -> None:
    with pytest.raises(InvalidArguments) as caught:
        validate(PI["read"], "pi.read", {"limit": "x", "s3cret": 1})
    assert set(caught.value.schema_paths) == {"path", "limit"}


def test_an_open_schema_accepts_anything() -> None:
    open_action = Action(name="open", description="", risk="read", input_schema={"type": "object"})
    validate(open_action, "x.open", {"whatever": object()})
