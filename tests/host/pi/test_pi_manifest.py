"""What every request carries because of us."""

from pi_fabric.base.jsonvalue import stringify
from pi_fabric.execution.request import FABRIC_EXEC
from pi_fabric.host.pi.manifest import EXTENSION_DIR, MANIFEST_PATH, manifest, render


def test_the_committed_manifest_is_the_generated_one() -> None:
    assert MANIFEST_PATH.read_text(encoding="utf-8") == render()


def test_the_standing_prompt_stays_small() -> None:
    tool = manifest()["tool"]
    texts = [tool["description"], tool["promptSnippet"], *tool["promptGuidelines"]]
    # About 400 tokens; the skill text that a comparable tool kept in every request was 2,643 tokens.
    assert sum(map(len, texts)) + len(stringify(tool["parameters"])) <= 1_700


def test_the_model_is_shown_the_arguments_that_are_accepted() -> None:
    shown, accepted = manifest()["tool"]["parameters"], FABRIC_EXEC.input_schema
    assert shown["properties"] == accepted["properties"]
    assert shown["required"] == accepted["required"]


def test_orchestration_only_does_not_name_tools_that_are_shut() -> None:
    assert "pi.read" in manifest()["tool"]["description"]
    assert "pi." not in manifest()["tool"]["orchestrationDescription"]


def test_the_extension_imports_only_node_and_the_host() -> None:
    allowed = ("node:", "./", "@earendil-works/pi-coding-agent")
    sources = list(EXTENSION_DIR.glob("*.js"))
    lines = [line for file in sources for line in file.read_text().splitlines() if line.startswith("import ")]
    modules = [line.rsplit(" from ", 1)[1].strip(' ";') for line in lines]
    assert len(sources) >= 5
    assert [module for module in modules if not module.startswith(allowed)] == []
