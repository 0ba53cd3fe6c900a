import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.actions.shapes import canonical, shape_call
from pi_fabric.protocol.actions import CallShape
from pi_fabric.providers.pi import ACTIONS

PI = {action.name: action.shape or CallShape() for action in ACTIONS}


@pytest.mark.requirement("actions:shapes:string")
@pytest.mark.parametrize(
    ("tool", "values", "args"),
    [
        ("read", ["a.ts"], {"path": "a.ts"}),
        ("ls", ["src"], {"path": "src"}),
        ("bash", ["ls"], {"command": "ls"}),
        ("grep", ["TODO"], {"pattern": "TODO"}),
        ("find", ["*.py"], {"pattern": "*.py"}),
    ],
)
def test_a_lone_string_is_the_main_argument(tool: str, values: list[object], args: dict[str, object]) -> None:
    assert shape_call(PI[tool], values) == args


@pytest.mark.requirement("actions:shapes:positional")
@pytest.mark.parametrize(
    ("tool", "values", "args"),
    [
        ("grep", ["TODO", "src", 5], {"pattern": "TODO", "path": "src", "limit": 5}),
        ("find", ["*.py", "src"], {"pattern": "*.py", "path": "src"}),
        ("write", ["p", "text", "more", "values"], {"path": "p", "content": "text"}),
        ("edit", ["p", "old", "new"], {"path": "p", "edits": [{"oldText": "old", "newText": "new"}]}),
        ("read", ["a.ts", {"limit": 5}], {"path": "a.ts", "limit": 5}),
        ("grep", ["TODO", {"path": "src"}], {"pattern": "TODO", "path": "src"}),
        ("bash", ["ls", {"timeoutMs": 2000}], {"command": "ls", "timeout": 2}),
    ],
)
def test_values_are_placed_in_order_and_a_trailing_object_adds_options(
    tool: str, values: list[object], args: dict[str, object]
) -> None:
    assert shape_call(PI[tool], values) == args


@pytest.mark.requirement("actions:shapes:nothing")
@pytest.mark.parametrize("values", [[], [None], [5], [["a"]], [True]])
def test_what_fits_no_shape_counts_as_no_arguments(values: list[object]) -> None:
    assert shape_call(PI["read"], values) == {}


@pytest.mark.requirement("actions:aliases:pi")
@pytest.mark.parametrize(
    ("tool", "given_args", "args"),
    [
        ("read", {"file": "x", "start": 3, "max": 9}, {"path": "x", "offset": 3, "limit": 9}),
        ("grep", {"query": "p", "ic": True, "globPattern": "*.ts", "ctx": 2},
         {"pattern": "p", "ignoreCase": True, "glob": "*.ts", "context": 2}),
        ("bash", {"cmd": "ls"}, {"command": "ls"}),
        ("write", {"file": "p", "body": "c"}, {"path": "p", "content": "c"}),
        ("edit", {"path": "p", "old": "o", "new": "n"},
         {"path": "p", "edits": [{"oldText": "o", "newText": "n"}]}),
        ("edit", {"path": "p", "edits": [{"old": "o", "replacement": "n"}]},
         {"path": "p", "edits": [{"oldText": "o", "newText": "n"}]}),
        ("edit", {"path": "p", "oldText": "o", "newText": "n", "all": True},
         {"path": "p", "edits": [{"oldText": "o", "newText": "n", "all": True}]}),
    ],
)  # fmt: skip
def test_other_names_are_rewritten_on_both_levels(
    tool: str, given_args: dict[str, object], args: dict[str, object]
) -> None:
    assert canonical(PI[tool], given_args) == args


@pytest.mark.requirement("actions:aliases:canonical-wins")
def test_a_canonical_name_beats_its_alias() -> None:
    assert canonical(PI["read"], {"file": "x", "path": "y"}) == {"path": "y"}
    assert canonical(PI["bash"], {"command": "c", "timeout": 5, "timeoutMs": 9000}) == {
        "command": "c",
        "timeout": 5,
    }


@pytest.mark.requirement("actions:aliases:milliseconds")
@pytest.mark.parametrize(("milliseconds", "seconds"), [(1000, 1), (1500, 1.5), (250, 0.25)])
def test_milliseconds_become_seconds(milliseconds: int, seconds: float) -> None:
    assert canonical(PI["bash"], {"command": "c", "timeoutMs": milliseconds})["timeout"] == seconds


@pytest.mark.requirement("actions:aliases:edit-list")
def test_flat_edit_text_is_left_alone_beside_a_list_of_edits() -> None:
    args: dict[str, object] = {"path": "p", "edits": [], "oldText": "x"}
    assert canonical(PI["edit"], args) == args


def test_arguments_without_aliases_come_back_as_the_same_object() -> None:
    args = {"path": "p", "limit": 3}
    assert canonical(PI["read"], args) is args


@given(
    st.sampled_from(sorted(PI)),
    st.lists(
        st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner))
    ),
)
def test_shaping_never_fails_and_is_settled_after_once(tool: str, values: list[object]) -> None:
    shaped = shape_call(PI[tool], values)
    assert canonical(PI[tool], shaped) == shaped
