import os
import shutil
from pathlib import Path

import pytest
from session_files import CWD, FOLDER, Home, found_files, header, path, set_age, user

from pi_fabric.base.jsonvalue import JsonObject
from pi_fabric.memory import Current
from pi_fabric.memory.discovery import Root, list_sessions, project_folder

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def scoped(home: Home, scope: str, *, cwd: str = CWD, current: str | None = None) -> JsonObject:
    live = None if current is None else Current(file=current)
    args: JsonObject = {"scope": scope, "detail": "full", "query": "cat"}
    return await home.memory().recall(args, cwd=Path(cwd), current=live)


@pytest.mark.requirement("memory:scope:session")
async def test_the_session_scope_is_the_current_session_else_the_newest_of_the_project(home: Home) -> None:
    home.session("foreign", path(user("cat")), folder="--other--", cwd="/other")
    home.session("new", path(user("cat")), age=1)
    old = home.session("old", path(user("cat")), age=2)

    assert found_files(await scoped(home, "session", current=old)) == ["old"]
    assert found_files(await scoped(home, "session")) == ["new"]
    assert found_files(await scoped(home, "no such word")) == ["new"]
    nowhere = await scoped(home, "session", cwd="/nowhere")
    assert (found_files(nowhere), nowhere["coverage"]["eligibleSessions"]) == ([], 0)


@pytest.mark.requirement("memory:scope:project", "memory:scope:global")
async def test_a_project_is_its_folder_and_global_is_everything(home: Home) -> None:
    home.session("one", path(user("cat")))
    home.session("two", path(user("cat")), age=1)
    home.session("other", path(user("cat")), folder="--other--", cwd="/other", age=2)

    assert found_files(await scoped(home, "project")) == ["one", "two"]
    assert found_files(await scoped(home, " global ")) == ["one", "two", "other"]


@pytest.mark.requirement("memory:scope:default")
async def test_no_scope_is_never_more_than_the_session(home: Home) -> None:
    home.session("one", path(user("cat")))
    home.session("two", path(user("cat")), age=1)

    answer = await home.memory().recall({"query": "cat", "detail": "full"}, cwd=Path(CWD))

    assert (answer["scope"], found_files(answer)) == ("session", ["one"])


@pytest.mark.requirement("memory:find:shared-folder")
async def test_two_projects_that_share_a_folder_are_told_apart_by_their_headers(home: Home) -> None:
    home.session("one", path(user("cat")), cwd="/tmp/测试", folder="--tmp-测试--")
    home.session("two", path(user("cat")), cwd="/tmp/日本", folder="--tmp-测试--", age=1)
    home.raw("unknown", path(user("cat")), folder="--tmp-测试--", age=2)

    assert found_files(await scoped(home, "project", cwd="/tmp/测试")) == ["one", "unknown"]
    # It has no folder of its own; its header tells.
    assert found_files(await scoped(home, "project", cwd="/tmp/日本")) == ["two"]


@pytest.mark.requirement("memory:find:windows")
@pytest.mark.parametrize("folder", ["--C--Users-me-proj--", "C--Users-me-proj"])
async def test_a_project_on_a_drive_of_windows_is_found(home: Home, folder: str) -> None:
    cwd = "C:\\Users\\me\\proj"
    home.session("x", path(user("cat")), cwd=cwd, folder=folder)

    assert project_folder(cwd) == "--C--Users-me-proj--"
    assert found_files(await scoped(home, "project", cwd=cwd)) == ["x"]


@pytest.mark.requirement("memory:find:recursive")
async def test_sessions_are_found_at_any_depth_and_all_of_them_count(home: Home) -> None:
    home.session("top", path(user("cat")), folder="")
    home.session("deep", path(user("cat")), folder="a/b/c", age=1)
    (home.sessions / "a" / "notes.txt").write_text("cat")
    (home.sessions / "a" / "folder.jsonl").mkdir()

    answer = await scoped(home, "global")

    assert found_files(answer) == ["top", "deep"]
    assert answer["coverage"]["eligibleSessions"] == answer["coverage"]["indexedSessions"] == 2


@pytest.mark.requirement("memory:find:files-are-the-truth")
async def test_a_session_that_was_added_is_found_at_the_next_question_and_after_a_rebuild(home: Home) -> None:
    home.session("one", path(user("cat")))
    memory = home.memory()
    await home.recall("cat", memory=memory)

    home.session("two", path(user("cat")), age=1)
    assert found_files(await home.recall("cat", memory=memory)) == ["one", "two"]

    home.session("three", path(user("cat")), age=2)
    await memory.rebuild()
    assert found_files(await home.recall("cat", memory=memory)) == ["one", "two", "three"]


@pytest.mark.requirement("memory:find:loops")
async def test_a_loop_of_links_ends(home: Home) -> None:
    home.session("x", path(user("cat")))
    (home.sessions / FOLDER / "again").symlink_to(home.sessions)
    (home.sessions / "itself").symlink_to(home.sessions / "itself")

    answer = await scoped(home, "global")

    assert (found_files(answer), answer["coverage"]["complete"]) == (["x"], True)


@pytest.mark.requirement("memory:find:linked")
async def test_a_folder_that_is_linked_in_is_searched(home: Home, tmp_path: Path) -> None:
    home.session("x", path(user("cat")))
    elsewhere = tmp_path / "elsewhere"
    (home.sessions / FOLDER).rename(elsewhere)
    (home.sessions / "linked").symlink_to(elsewhere)

    assert found_files(await scoped(home, "global")) == ["x"]


@pytest.mark.requirement("memory:find:unreadable")
async def test_a_folder_that_cannot_be_listed_is_named_and_nothing_is_certain(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.session("x", path(user("cat")))
    home.session("hidden", path(user("dog")), folder="--locked--")
    memory = home.memory()
    assert found_files(await home.recall("dog", memory=memory)) == ["hidden"]
    locked = str(home.sessions / "--locked--")
    scandir = os.scandir

    def refuse(folder: str) -> object:
        if folder == locked:
            raise PermissionError(folder)
        return scandir(folder)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        everywhere = await home.recall("dog", memory=memory)
        project = await home.recall("dog", memory=memory, scope="project")
        status = await memory.status()

    assert (found_files(everywhere), everywhere["coverage"]["reasons"]) == ([], ["source_unavailable"])
    assert everywhere["text"].startswith("No indexed matches")
    assert (found_files(project), project["coverage"]["complete"]) == ([], True)
    assert status.unreadable == (locked,)
    # What is in it is not taken for deleted.
    assert {record["sessionId"] for _, record in home.records()} == {"x", "hidden"}


@pytest.mark.requirement("memory:find:unreadable")
@pytest.mark.parametrize(
    ("folder", "complete"), [(FOLDER, False), (f"{FOLDER}/inner", False), ("--other--", True)]
)
async def test_what_is_hidden_within_a_project_makes_the_project_uncertain(
    home: Home, folder: str, complete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.session("x", path(user("cat")), folder=folder)
    home.session("y", path(user("cat")))
    locked = str(home.sessions / folder)
    scandir = os.scandir

    def refuse(folder: str) -> object:
        if folder == locked:
            raise PermissionError(folder)
        return scandir(folder)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        answer = await scoped(home, "project")

    assert answer["coverage"]["complete"] is complete


@pytest.mark.requirement("memory:find:names")
async def test_a_name_that_is_no_text_is_left_out_and_told(home: Home) -> None:
    file = home.session("x", path(user("cat")))
    os.rename(os.fsencode(file), os.fsencode(file).replace(b"x.jsonl", b"\xff.jsonl"))  # noqa: PTH104
    home.session("y", path(user("cat")), age=1)

    answer = await scoped(home, "global")

    assert (found_files(answer), answer["coverage"]["reasons"]) == (["y"], ["source_unavailable"])
    assert len((await home.memory().status()).unreadable) == 1


@pytest.mark.requirement("memory:find:same-id")
async def test_two_sessions_with_one_id_are_both_kept_and_the_id_is_refused(home: Home) -> None:
    one = home.session("one", path(user("cat")), session_id="same")
    two = home.session("two", path(user("cat")), session_id="same", folder="--other--", age=1)

    both = await scoped(home, "global")
    refused = await scoped(home, "session:same")
    expanded = await home.expand("same", indices=[0])

    assert (found_files(both), both["coverage"]["eligibleSessions"]) == (["one", "two"], 2)
    assert (refused["error"]["code"], refused["error"]["candidates"]) == ("ambiguous_session", [one, two])
    assert (expanded["error"]["code"], expanded["expanded"]) == ("ambiguous_session", [])
    assert one in expanded["error"]["candidates"]
    assert found_files(await scoped(home, f"session:{two}")) == ["two"]
    listed = await home.memory().sessions({"scope": "session:same"}, cwd=Path(CWD))
    assert listed["error"]["code"] == "ambiguous_session"


@pytest.mark.requirement("memory:scope:named")
async def test_a_session_is_named_by_path_then_id_then_file(home: Home, tmp_path: Path) -> None:
    file = home.session("2025_abc", path(user("cat")), session_id="id-1")
    home.session("id-1", path(user("cat")), session_id="id-2", age=1)
    outside = tmp_path / "elsewhere.jsonl"
    shutil.copy(file, outside)

    for scope, found in (
        (f"session:{file}", "2025_abc"),
        (f"session: {file} ", "2025_abc"),
        (f"session:{outside}", "elsewhere"),
        ("session:id-1", "2025_abc"),
        ("session:id-2", "id-1"),
        ("session:2025_abc", "2025_abc"),
        ("session:abc", "2025_abc"),
    ):
        assert found_files(await scoped(home, scope)) == [found]


@pytest.mark.requirement("memory:scope:named")
@pytest.mark.parametrize("path_form", ["relative", "home"])
async def test_a_path_may_be_relative_or_begin_at_the_home(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path_form: str
) -> None:
    outside = tmp_path / "elsewhere.jsonl"
    shutil.copy(home.session("x", path(user("cat"))), outside)
    monkeypatch.setenv("HOME", str(tmp_path))
    name = "elsewhere.jsonl" if path_form == "relative" else "~/elsewhere.jsonl"

    assert found_files(await scoped(home, f"session:{name}", cwd=str(tmp_path))) == ["elsewhere"]


@pytest.mark.requirement("memory:scope:unknown-name")
@pytest.mark.parametrize(
    "name", ["nobody", "/none.jsonl", "", "\ud800.jsonl", "a\0b.jsonl", "x" * 5000 + ".jsonl"]
)
async def test_a_session_that_is_not_there_gives_an_empty_answer(home: Home, name: str) -> None:
    home.session("x", path(user("cat")))

    answer = await scoped(home, f"session:{name}")
    assert (answer["totalItems"], answer["coverage"]["eligibleSessions"]) == (0, 0)
    if name:
        expanded = await home.expand(name, indices=[0])
        assert (expanded["error"]["code"], expanded["expanded"]) == ("session_not_found", [])


@pytest.mark.requirement("memory:find:fork-id")
async def test_a_fork_whose_file_has_another_id_is_found_by_both_and_by_path(home: Home) -> None:
    name = "2025-01-01T00-00-00-000Z_019e2501"
    file = home.session(name, path(user("cat")), session_id="019e8944")

    for target in ("019e8944", "019e2501", name, file):
        answer = await scoped(home, f"session:{target}")
        assert [one["sessionId"] for one in answer["segments"]] == ["019e8944"]


@pytest.mark.requirement("memory:find:long-header")
async def test_a_header_beyond_8192_bytes_is_known_once_the_session_is_read(home: Home) -> None:
    values = [header("real-id", more="x" * 9_000), *path(user("cat"))]
    file = home.raw("stem", values)
    memory = home.memory(hot_sessions=0)

    # A listing looks at 8,192 bytes, so until it is read the name of the file is the id.
    assert (await memory.recall({"scope": "session:real-id"}, cwd=Path(CWD)))["totalItems"] == 0
    assert found_files(await home.recall("cat", memory=memory, scope="session:stem")) == ["stem"]
    [hit] = (await home.recall("cat", memory=memory))["digestHits"]
    assert (hit["sessionId"], hit["cwd"]) == ("real-id", CWD)
    assert found_files(await home.recall("cat", memory=memory, scope="session:real-id")) == ["stem"]
    assert file.endswith("stem.jsonl")


@pytest.mark.requirement("memory:find:order")
def test_a_listing_is_newest_first_and_by_name_where_times_are_equal(home: Home, tmp_path: Path) -> None:
    for name, age in (("c", 5), ("b", 0), ("a", 5)):
        home.session(name, path(user("x")), age=age)

    listing = list_sessions([Root(path=str(tmp_path / "none")), Root(path=str(home.sessions))])

    assert [Path(one.path).stem for one in listing.found] == ["b", "a", "c"]
    assert listing.unreadable == []


@pytest.mark.requirement("memory:find:host-path")
async def test_the_current_session_is_known_whatever_path_leads_to_it(home: Home, tmp_path: Path) -> None:
    file = home.session("x", path(user("cat")))
    home.session("newer", path(user("cat")))
    set_age(file, 9)
    link = tmp_path / "link"
    link.symlink_to(home.sessions)

    answer = await scoped(home, "session", current=file.replace(str(home.sessions), str(link)))

    assert [one["sessionFile"] for one in answer["segments"]] == [file]


@pytest.mark.requirement("memory:find:linked")
async def test_a_folder_counts_under_its_own_name_whatever_links_lie_beside_it(home: Home) -> None:
    home.session("x", path(user("cat")))
    for link in ("--a--", "AAA", "zzz"):
        (home.sessions / link).symlink_to(FOLDER)

    assert found_files(await scoped(home, "project")) == ["x"]
    assert found_files(await scoped(home, "global")) == ["x"]


@pytest.mark.requirement("memory:find:own-files")
@pytest.mark.parametrize("place", [".", "index", FOLDER])
async def test_an_index_among_the_sessions_is_no_session(home: Home, place: str) -> None:
    home.session("x", path(user("cat")))
    folder = home.sessions / place

    for _ in range(3):
        answer = await home.recall("cat", memory=home.memory(index_dir=str(folder)))
        assert (found_files(answer), answer["coverage"]["eligibleSessions"]) == (["x"], 1)
    assert len(list(folder.glob("*.json"))) == 1


@pytest.mark.requirement("memory:scope:named")
async def test_the_beginning_of_an_id_is_enough_where_it_is_long_and_means_one(home: Home) -> None:
    home.session("one", path(user("cat")), session_id="019e2501-7000-aaaa")
    home.session("two", path(user("cat")), session_id="019e2501-7000-bbbb", age=1)

    assert found_files(await scoped(home, "session:019e2501-7000-a")) == ["one"]
    assert (await scoped(home, "session:019e2501"))["error"]["code"] == "ambiguous_session"
    assert found_files(await scoped(home, "session:019e250")) == []
    assert found_files(await scoped(home, "session:two.jsonl")) == ["two"]


@pytest.mark.requirement("memory:find:same-id")
async def test_a_session_is_named_by_its_id_only_where_that_means_no_other(home: Home) -> None:
    one = home.session("one", path(user("cat")), session_id="same")
    home.session("two", path(user("cat")), session_id="same", age=1)
    three = home.session("three", path(user("cat")), session_id="other", age=2)
    memory = home.memory()

    assert await memory.name_of(one, "same", cwd=Path(CWD)) == one
    assert await memory.name_of(three, "other", cwd=Path(CWD)) == "other"


@pytest.mark.requirement("memory:index:relative-folder")
async def test_a_relative_folder_of_the_index_lies_in_the_agents_wherever_one_asks(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.session("x", path(user("cat")))
    monkeypatch.chdir(tmp_path)

    await home.recall("cat", memory=home.memory(index_dir="mine"))

    assert len(list((tmp_path / "agent" / "mine").glob("*.json"))) == 1
    assert not (tmp_path / "mine").exists()


@pytest.mark.requirement("memory:scope:hidden-name")
async def test_a_session_that_may_lie_where_nothing_could_be_listed_is_not_said_to_be_absent(
    home: Home,
) -> None:
    home.session("deep", path(user("cat")), folder="/".join("abcdefghijklmno"))

    answer = await scoped(home, "session:deep")
    expanded = await home.expand("deep", indices=[0])

    assert (answer["coverage"]["complete"], answer["coverage"]["reasons"]) == (False, ["source_unavailable"])
    assert expanded["error"]["code"] == "session_not_found"
    assert "could not be looked into" in expanded["error"]["message"]


@pytest.mark.requirement("memory:find:unreadable")
async def test_a_folder_that_cannot_be_listed_keeps_only_records_of_its_own(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = home.session("gone", path(user("cat")), folder="--work-proj2--")
    home.session("kept", path(user("cat")), folder="--work-proj--")
    await home.recall("cat")
    Path(gone).unlink()  # noqa: ASYNC240
    refused = os.scandir

    def scandir(folder: str) -> object:
        if str(folder).endswith("--work-proj"):
            raise PermissionError(13, "no", folder)
        return refused(folder)

    (home.sessions / "--work-proj").mkdir()
    monkeypatch.setattr(os, "scandir", scandir)
    await home.recall("cat")

    assert [Path(record["file"]).stem for _, record in home.records()] == ["kept"]
