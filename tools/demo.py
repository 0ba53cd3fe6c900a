"""The main job, end to end: a real Pi session in which the model calls `fabric_exec` once.

    python -m tools.demo [--svg FILE]

Pi, the extension, the sidecar and the sandbox are the real ones; only the model is scripted, so that no
key and no network is needed. `--svg` saves what was shown as a picture.
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax

from pi_fabric.cli.trace_table import trace_table
from pi_fabric.host.pi.manifest import EXTENSION_DIR
from tools import install_pi
from tools.pi_rpc import Event, PiSession, pi_environment, pi_session, write_agent_dir
from tools.scripted_model import Reply, ScriptedModel, ToolCall

QUESTION = "How large is this code base, and which modules are the longest?"
PROGRAM = """\
await phase("Find the modules");
const listed = await pi.bash("git ls-files 'src/*.py'");
const files = listed.output.trim().split("\\n");

await phase("Read them", { total: files.length });
const modules = await parallel(files, async (file) => {
  const text = await pi.read({ path: file, limit: 2000 });
  return { file, lines: text.split("\\n").length };
}, 8);

await phase("Search");
const found = await pi.grep("^class .*[(]FabricError[)]", "src");

modules.sort((a, b) => b.lines - a.lines);
return {
  modules: modules.length,
  lines: modules.reduce((sum, module) => sum + module.lines, 0),
  errorClasses: found.trim().split("\\n").length,
  longest: modules.slice(0, 3),
};
"""
# The picture's width; a narrower terminal gets its own.
COLUMNS = 88
# A session of this size takes a few seconds; a hang must end by itself.
LIMIT_S = 60.0
_WEB_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


async def demo(console: Console) -> bool:
    """Run the session and show it; False when the program did not succeed."""
    await install_pi.install(install_pi.TARGET)
    console.print(f"\n[bold]You[/bold]  {QUESTION}")
    with ScriptedModel() as model, tempfile.TemporaryDirectory() as home:
        model.say(
            Reply(calls=[ToolCall(name="fabric_exec", arguments={"code": PROGRAM})]),
            Reply(text="The figures are above."),
        )
        agent_dir = write_agent_dir(Path(home) / "agent", model)
        environment = pi_environment(agent_dir, {"PI_FABRIC_PYTHON": sys.executable, "PATH": _search_path()})
        async with pi_session(
            install_pi.TARGET, cwd=install_pi.ROOT, env=environment, arguments=["-e", str(EXTENSION_DIR)]
        ) as pi:
            result = await _converse(pi, console)
        sent = [tool["function"]["name"] for tool in model.requests[0]["tools"]]
    return _show(console, result, sent)


async def _converse(pi: PiSession, console: Console) -> Event:
    console.print(f"[bold]Pi {install_pi.TARGET}[/bold]  calls [cyan]fabric_exec[/cyan] with a program:")
    console.print(
        Panel(
            Syntax(PROGRAM.rstrip(), "typescript", background_color="default", word_wrap=True),
            width=console.width,
        )
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_show_phases, pi, console)
        with anyio.fail_after(LIMIT_S):
            await pi.prompt(QUESTION)
        tasks.cancel_scope.cancel()
    return next(
        event["message"]
        for event in pi.events
        if event.get("type") == "message_end" and event["message"].get("role") == "toolResult"
    )


async def _show_phases(pi: PiSession, console: Console) -> None:
    shown = ""
    start = 0
    while True:
        update = await pi.wait_for(_is_progress, start=start)
        start = pi.events.index(update) + 1
        text = _text_of(update["partialResult"]).strip().replace("\n", ": ", 1)
        if text and text != shown:
            console.print(f"  [dim]{text}[/dim]", highlight=False)
            shown = text


def _text_of(result: Event) -> str:
    return "".join(block.get("text", "") for block in result["content"])


def _is_progress(event: Event) -> bool:
    return event.get("type") == "tool_execution_update" and event.get("toolName") == "fabric_exec"


def _show(console: Console, result: Event, sent: list[str]) -> bool:
    text = _text_of(result)
    console.print("\n[bold]Only this comes back to the model:[/bold]")
    console.print(
        Panel(Syntax(text, "yaml", background_color="default", word_wrap=True), width=console.width)
    )
    details: dict[str, Any] = result["details"]
    trace = details["trace"]
    console.print(f"[bold]What it did[/bold] ({len(trace['operations'])} calls, kept with the session):")
    console.print(trace_table(trace, max_rows=6))
    console.print(f"\nTools that the model was offered: {', '.join(sent)}")
    console.print("With your own model: [cyan].venv/bin/pi-fabric pi install[/cyan], then [cyan]pi[/cyan]\n")
    return details.get("success") is True


def _search_path() -> str:
    # Pi's grep needs ripgrep; the one of our own environment will do.
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


def _picture(console: Console) -> str:
    """What was shown, as SVG that loads nothing from elsewhere."""
    return _WEB_FONT.sub("", console.export_svg(title="pi-fabric"))


def main() -> int:
    """Run the demo; returns the exit code."""
    parser = argparse.ArgumentParser(description="One Pi session in which the model calls fabric_exec.")
    parser.add_argument("--svg", type=Path, help="save what was shown as a picture")
    options = parser.parse_args()
    width = COLUMNS if options.svg is not None else min(COLUMNS, Console().width)
    console = Console(record=options.svg is not None, width=width, highlight=False)
    succeeded = anyio.run(demo, console)
    if options.svg is not None:
        options.svg.write_text(_picture(console), encoding="utf-8")
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
