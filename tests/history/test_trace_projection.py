import pytest

from pi_fabric.base.jsonvalue import UNDEFINED, Json
from pi_fabric.history.trace.projection import ARGUMENTS, project_arguments, project_result

EVERYTHING = {
    "path": "src/a.ts", "offset": 3, "limit": 9, "content": "secret", "command": "ls", "query": "q",
    "context": 2, "id": "id-1", "name": "nm", "topic": "t/x", "to": "bob", "after": 4, "key": "k",
    "prefix": "pre", "provider": "mcp", "namespace": "ns", "ref": "pi.read", "total": 5, "status": "running",
    "phase": "p1", "kind": "task", "completed": 2, "level": "info", "itemCount": 4, "stageCount": 2,
    "concurrency": 3, "token": "abc", "data": {"a": 1},
}  # fmt: skip


@pytest.mark.requirement("trace:arguments:allow-list")
@pytest.mark.parametrize("ref", sorted(ARGUMENTS))
def test_each_reference_keeps_exactly_its_row(ref: str) -> None:
    kept = project_arguments(ref, EVERYTHING)

    assert set(kept.value) == set(ARGUMENTS[ref])
    assert kept.dropped == len(EVERYTHING) - len(ARGUMENTS[ref])


@pytest.mark.requirement("trace:arguments:others-keep-none")
@pytest.mark.parametrize(
    "ref",
    ["agents.run", "agents.spawn", "mcp.srv.tool", "pi.unknown", "unknown", "", "fabric.workflow.progress"],
)
def test_a_reference_without_a_row_keeps_nothing(ref: str) -> None:
    kept = project_arguments(ref, EVERYTHING)

    assert kept.value == {}
    assert kept.dropped == len(EVERYTHING)


def test_kept_arguments_have_sorted_keys() -> None:
    assert list(project_arguments("pi.read", EVERYTHING).value) == ["limit", "offset", "path"]


@pytest.mark.parametrize(("args", "dropped"), [(UNDEFINED, 0), (["a"], 1), ("a", 1), (None, 1), ({}, 0)])
def test_arguments_that_are_no_object_keep_nothing(args: Json, dropped: int) -> None:
    kept = project_arguments("pi.read", args)

    assert (kept.value, kept.dropped) == ({}, dropped)


@pytest.mark.requirement("trace:arguments:local-path")
@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("../a/b.ts", "../a/b.ts"),
        ("src/a.ts?x=1#f", "src/a.ts"),
        ("a#b?c", "a"),
        ("源/文.ts", "源/文.ts"),
        ("C:\\a?b", "C:\\a?b"),
        ("c:/x", "c:/x"),
        ("src/a:b", "src/a:b"),
        ("https://user:pw@h/x", None),
        ("  https://user:pw@h/x", None),
        ("file:///etc/x", None),
        ("foo:bar", None),
        ("//host/share", None),
        ("\\\\host\\share", None),
        ("a\0b", None),
        ("?x", None),
        ("", None),
        (5, None),
    ],
)
def test_only_local_paths_are_kept_without_query_and_fragment(path: Json, kept: str | None) -> None:
    assert project_arguments("pi.edit", {"path": path}).value.get("path") == kept


@pytest.mark.requirement("trace:arguments:identifier")
@pytest.mark.parametrize(
    ("ref", "is_kept"),
    [
        ("abc-1.2/3:4_5", True),
        ("7", True),
        ("-abc", False),
        ("", False),
        ("a b", False),
        ("a\n", False),
        ("é", False),
        (5, False),
        ("a" * 1024, True),
        ("a" * 1025, False),
    ],
)
def test_only_names_count_as_identifiers(ref: Json, is_kept: bool) -> None:
    assert ("ref" in project_arguments("fabric.discovery.describe", {"ref": ref}).value) is is_kept


@pytest.mark.requirement("trace:arguments:number")
@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (5, 5),
        (2.5, 2.5),
        (3.0, 3),
        (-1, -1),
        (2**60, float(2**60)),
        (10**400, None),
        (True, None),
        ("5", None),
        (float("inf"), None),
        (float("nan"), None),
        (None, None),
    ],
)
def test_only_finite_numbers_are_kept(limit: Json, kept: Json) -> None:
    assert project_arguments("pi.ls", {"limit": limit}).value.get("limit") == kept


@pytest.mark.requirement("trace:result:created")
@pytest.mark.parametrize(
    ("result", "kept", "dropped"),
    [
        ({"created": True, "output": "x"}, {"created": True}, 1),
        ({"ok": True, "details": {"created": True}}, {"created": True}, 1),
        ({"created": 1}, UNDEFINED, 1),
        ({"ok": True, "output": "x", "details": None}, UNDEFINED, 1),
        ("x", UNDEFINED, 1),
        ([1], UNDEFINED, 1),
        (None, UNDEFINED, 1),
        (UNDEFINED, UNDEFINED, 0),
    ],
)
def test_of_a_write_only_that_it_made_a_file_is_kept(result: Json, kept: Json, dropped: int) -> None:
    projected = project_result("pi.write", result)

    assert (projected.value, projected.dropped) == (kept, dropped)


def test_no_other_result_is_kept() -> None:
    assert project_result("pi.edit", {"created": True}).value is UNDEFINED
