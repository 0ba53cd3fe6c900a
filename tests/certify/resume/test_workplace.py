"""The folders of one run: nothing of the person's own, and the key nowhere on the disk."""

import json
import os
from pathlib import Path

import pytest

from pi_fabric.certify.resume.arms import ARMS, ArmName
from pi_fabric.certify.resume.fixture import load_fixture
from pi_fabric.certify.resume.gate import Gate
from pi_fabric.certify.resume.workplace import Workplace, furnish, moved_session, remove_tree
from pi_fabric.history.session import read_session
from tests.certify.resume.own_fixture import session_lines, write_fixture

KEY = "sk-secret-123456"
REPO = Path("/new/place")


def furnished(tmp_path: Path, arm: ArmName = "fabric", environ: dict[str, str] | None = None) -> Workplace:
    vcc = tmp_path / "vcc.js"
    gate = Gate(
        provider="anthropic", model="m", key_env="SOME_KEY", key=KEY, max_usd=1, repeats=1, pi_vcc=vcc
    )
    fixture = load_fixture(write_fixture(tmp_path / "fixture"))
    return furnish(tmp_path / "run", fixture=fixture, arm=ARMS[arm], gate=gate, environ=environ or {})


@pytest.mark.requirement("certify:resume:key")
def test_the_key_goes_into_the_environment_and_nowhere_else(tmp_path: Path) -> None:
    place = furnished(tmp_path)
    assert place.environment["SOME_KEY"] == KEY
    assert KEY not in " ".join(place.argv)
    files = [file for file in (tmp_path / "run").rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if KEY.encode() in file.read_bytes()]
    auth = json.loads((tmp_path / "run/home/.pi/agent/auth.json").read_text())
    assert auth == {"anthropic": {"type": "api_key", "key": "$SOME_KEY"}}


@pytest.mark.requirement("certify:resume:temporary")
def test_pi_gets_a_home_of_its_own_and_of_our_environment_only_what_it_needs(tmp_path: Path) -> None:
    environ = {"HTTPS_PROXY": "http://proxy", "OTHER_API_KEY": "x", "PI_CODING_AGENT_DIR": "/mine"}
    variables = furnished(tmp_path, environ=environ).environment
    assert variables["HOME"] == str(tmp_path / "run" / "home")
    assert variables["PI_CODING_AGENT_DIR"] == str(tmp_path / "run" / "home" / ".pi" / "agent")
    assert variables["HTTPS_PROXY"] == "http://proxy"
    assert "OTHER_API_KEY" not in variables


@pytest.mark.parametrize(
    ("arm", "engine", "extensions"), [("fabric", "fabric", 1), ("pi", "pi", 1), ("pi-vcc", "fabric", 2)]
)
def test_arms_differ_in_who_compacts(tmp_path: Path, arm: ArmName, engine: str, extensions: int) -> None:
    place = furnished(tmp_path, arm)
    config = json.loads((tmp_path / "run/home/.pi/agent/fabric.json").read_text())
    assert config["compaction"]["engine"] == engine
    assert place.argv.count("-e") == extensions


def test_the_session_is_about_the_copied_repository(tmp_path: Path) -> None:
    place = furnished(tmp_path)
    session = read_session(place.session)
    assert session.header is not None
    assert session.header.cwd == str(place.repo)
    text = session.entries[0]["message"]["content"][0]["text"]
    assert text == f"Write forty-two into {place.repo}/answer.txt."


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("/old/repo", "/new/place"),
        ("cd /old/repo\n/old/repo/a", "cd /new/place\n/new/place/a"),
        ("/old/repository /old/repo-2 /old/repo.x", "/old/repository /old/repo-2 /old/repo.x"),
        ("/very/old/repo", "/very/old/repo"),
        ("file:///old/repo", "file:///new/place"),
    ],
)
def test_only_the_folder_itself_is_moved(text: str, moved: str) -> None:
    lines = [{"type": "session", "cwd": "/old/repo"}, {"text": text}]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    header, entry = moved_session(data, REPO).split(b"\n")
    assert json.loads(header)["cwd"] == str(REPO)
    assert json.loads(entry)["text"] == moved


def test_the_root_folder_is_moved_in_the_header_alone() -> None:
    data = "\n".join(json.dumps(line) for line in session_lines("/")).encode()
    header, entry, _ = moved_session(data, REPO).split(b"\n")
    assert json.loads(header)["cwd"] == str(REPO)
    assert b"into //answer.txt" in entry


def test_a_copy_can_be_written_when_the_fixture_cannot(tmp_path: Path) -> None:
    fixture = write_fixture(tmp_path / "fixture")
    (fixture / "repo" / "fixed.txt").chmod(0o444)
    (fixture / "repo" / "kept" / "one.txt").chmod(0o555)
    gate = Gate(provider="p", model="m", key_env="K", key=KEY, max_usd=1, repeats=1)
    place = furnish(
        tmp_path / "run", fixture=load_fixture(fixture), arm=ARMS["baseline"], gate=gate, environ={}
    )
    assert (place.repo / "fixed.txt").stat().st_mode & 0o777 == 0o644
    assert (place.repo / "kept" / "one.txt").stat().st_mode & 0o777 == 0o755


def test_a_tree_is_removed_whatever_its_permissions(tmp_path: Path) -> None:
    deep = tmp_path / "run" / "locked" / "deeper"
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    (tmp_path / "kept").mkdir(mode=0o500)
    (deep.parent / "link").symlink_to(tmp_path / "kept")
    os.chmod(deep, 0)  # noqa: PTH101
    os.chmod(deep.parent, 0)  # noqa: PTH101
    remove_tree(tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o500
