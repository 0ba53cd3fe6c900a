"""Where one run takes place: an agent folder, a repository and a session of its own, all temporary."""

import os
import re
import shutil
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pi_fabric.base.jsonvalue import JsonObject, stringify
from pi_fabric.base.paths import AGENT_DIR_VARIABLE
from pi_fabric.base.process import inherited_environment
from pi_fabric.certify.resume.arms import Arm
from pi_fabric.certify.resume.fixture import Fixture, files_below
from pi_fabric.certify.resume.gate import Gate
from pi_fabric.host.pi.manifest import EXTENSION_DIR

# Recent raw tokens that every compaction keeps: less than a session of the built-in fixtures has after
# its facts were told, so that these are what is compacted.
KEEP_RECENT_TOKENS: Final = 2_000
RESERVE_TOKENS: Final = 16_384
# What a way to the provider may depend on.
_NETWORK: Final = (
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
# Nothing but the session, the extensions named and the prompt may reach the model.
_BARE: Final = (
    "--no-extensions",
    "--no-skills",
    "--no-prompt-templates",
    "--no-context-files",
    "--no-approve",
)

_CWD = re.compile(rb'("cwd"\s*:\s*)"((?:[^"\\]|\\.)*)"')
# A path of the same beginning or end is another one; an escape before it is no part of it.
_BEFORE = rb"(?:(?<![A-Za-z0-9._-])|(?<=\\[nrt]))"
_AFTER = rb"(?![A-Za-z0-9._-])"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """The folders of one run, and how Pi is started in them."""

    repo: Path
    session: Path
    argv: tuple[str, ...]
    """Arguments of Pi's."""
    environment: Mapping[str, str] = field(repr=False)


def furnish(folder: Path, *, fixture: Fixture, arm: Arm, gate: Gate, environ: Mapping[str, str]) -> Workplace:
    """Make the folders of one run. Blocking.

    Args:
        folder: A new or empty one, by its real path.
        fixture: The task; its files are copied.
        arm: What is compared.
        gate: The credential goes into the environment alone, and the agent folder names its variable.
        environ: Our own environment.

    Raises:
        OSError: If something cannot be written.
    """
    home, repo = folder / "home", folder / "repo"
    agent = home / ".pi" / "agent"
    sessions = agent / "sessions" / f"--{str(repo).lstrip('/').replace('/', '-')}--"
    for each in (agent, sessions):
        each.mkdir(parents=True, mode=0o700)
    copy_repo(fixture, repo)
    for name, content in _agent_files(arm, gate).items():
        (agent / name).write_text(stringify(content, indent=2), encoding="utf-8")
    if gate.models is not None:
        shutil.copyfile(gate.models, agent / "models.json")
    session = sessions / "2026-01-01T00-00-00-000Z_resume.jsonl"
    session.write_bytes(moved_session(fixture.session.read_bytes(), repo))
    return Workplace(
        repo=repo,
        session=session,
        argv=_argv(session, arm, gate),
        environment=_environment(home, agent, gate, environ),
    )


def moved_session(data: bytes, repo: Path) -> bytes:
    """A session file with another folder in place of the one that its header names, everywhere in it."""
    header, _, _ = data.partition(b"\n")
    found = _CWD.search(header)
    new = stringify(str(repo))[1:-1].encode()
    if found is None or found.group(2) == b"/":
        # The root stands in every other path.
        return (
            _CWD.sub(lambda match: match.group(1) + b'"' + new + b'"', header, count=1) + data[len(header) :]
        )
    return re.sub(_BEFORE + re.escape(found.group(2)) + _AFTER, lambda _: new, data)


def copy_repo(fixture: Fixture, target: Path) -> None:
    """A copy of a fixture's repository that can be written, whatever the original is. Blocking."""
    shutil.copytree(fixture.repo, target, copy_function=shutil.copyfile)
    for file in files_below(fixture.repo):
        # As git does: of the permissions only whether it can be run.
        is_program = file.stat().st_mode & stat.S_IXUSR
        (target / file.relative_to(fixture.repo)).chmod(0o755 if is_program else 0o644)
    for place, _, _ in os.walk(target):
        Path(place).chmod(0o755)


def remove_tree(folder: Path) -> None:
    """Remove a folder, whatever permissions a model has given to folders in it. Blocking.

    What cannot be removed stays; whoever minds looks whether the folder is still there.
    """
    for place, folders, _ in os.walk(folder):
        for name in folders:
            child = Path(place, name)
            with suppress(OSError):
                if not child.is_symlink():
                    child.chmod(stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)


def _agent_files(arm: Arm, gate: Gate) -> dict[str, JsonObject]:
    compaction: JsonObject = {
        # Only the one compaction that is compared.
        "enabled": False,
        "reserveTokens": RESERVE_TOKENS,
        "keepRecentTokens": KEEP_RECENT_TOKENS,
    }
    return {
        "settings.json": {
            "defaultProvider": gate.provider,
            "defaultModel": gate.model,
            "compaction": compaction,
            "enableInstallTelemetry": False,
            "quietStartup": True,
        },
        # By name: Pi looks the value up in its environment, and it is never on the disk.
        "auth.json": {gate.provider: {"type": "api_key", "key": f"${gate.key_env}"}},
        "fabric.json": {
            "compaction": {"engine": arm.engine, "fill": "tail"},
            # What children cost would not be in this session, and the budget would not see it.
            "subagents": {"enabled": False},
            "mesh": {"enabled": False},
        },
    }


def _argv(session: Path, arm: Arm, gate: Gate) -> tuple[str, ...]:
    extensions = ["-e", str(EXTENSION_DIR)]
    if arm.loads_pi_vcc:
        extensions += ["-e", str(gate.pi_vcc)]
    model = ("--provider", gate.provider, "--model", gate.model)
    return ("--mode", "rpc", "--session", str(session), *model, *_BARE, *extensions)


def _environment(home: Path, agent: Path, gate: Gate, environ: Mapping[str, str]) -> dict[str, str]:
    network = {name: environ[name] for name in _NETWORK if name in environ}
    ours = {
        "HOME": str(home),
        AGENT_DIR_VARIABLE: str(agent),
        # Of what Pi does at its start, not of its requests to a model.
        "PI_OFFLINE": "1",
        "PI_FABRIC_PYTHON": sys.executable,
        gate.key_env: gate.key,
    }
    return inherited_environment(network | ours)
