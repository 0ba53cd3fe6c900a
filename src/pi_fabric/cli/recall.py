"""`pi-fabric recall`: search every past session, or look through them newest first."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import typer

from pi_fabric.base.clock import SystemClock
from pi_fabric.base.errors import RequestError
from pi_fabric.base.jsonvalue import JsonObject, stringify
from pi_fabric.base.shellwords import command_line
from pi_fabric.cli.memory_run import ask, one_paragraph, open_config, tell_error
from pi_fabric.cli.moments import FORMS, moment_ms
from pi_fabric.cli.options import JsonOption, ProjectOption
from pi_fabric.cli.output import ExitCode, emit, say, working_folder
from pi_fabric.cli.recall_view import answer_lines
from pi_fabric.cli.scopes import ScopeOption, check_scope
from pi_fabric.cli.styled_lines import print_lines
from pi_fabric.config.model import MemoryVerify
from pi_fabric.memory import Memory
from pi_fabric.memory.discovery import SESSION_PREFIX
from pi_fabric.memory.model import Branches
from pi_fabric.memory.query import MAX_PAGE_SIZE, Detail, Match, read_query
from pi_fabric.memory.refresh import Progress

app = typer.Typer(add_completion=False, rich_markup_mode=None)

# Far more pages than one question lists items.
_MAX_PAGE: Final = 10**6
_EPILOG = (
    "Exit codes: 0 found, 1 nothing found, or no answer, 2 wrong usage, 6 memory is switched off."
    " Example: pi-fabric recall flaky timeout --scope global --since 2w"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The options that decide what is found, as they were typed."""

    words: tuple[str, ...]
    options: tuple[str, ...]
    opener: str
    """What opens the session that was found first."""

    def within(self, file: str) -> str:
        """The command that asks the same of one session."""
        options = [*self.options, "--scope", f"{SESSION_PREFIX}{file}"]
        ends_options = any(word.startswith("-") for word in self.words)
        parts = [*options, "--", *self.words] if ends_options else [*self.words, *options]
        return command_line(["pi-fabric", "recall", *parts])


@app.command(name="recall", epilog=_EPILOG)
def run(  # noqa: PLR0913 - one parameter for each option
    *,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY", help="Words to find; without any, everything, newest first."),
    ] = None,
    scope: ScopeOption = "project",
    branches: Annotated[
        Branches, typer.Option(help="Only the branch that each session is on, or all.")
    ] = "active",
    regex: Annotated[
        bool, typer.Option("--regex", help="QUERY is one JavaScript regular expression; case is ignored.")
    ] = False,
    match: Annotated[
        Match, typer.Option(help="Any or all of the words, these words in a row, or words that begin so.")
    ] = "any",
    fold: Annotated[
        bool, typer.Option("--fold", help="Find parts of names too: cache finds parseCache and cache_key.")
    ] = False,
    role: Annotated[
        str | None, typer.Option(help="Only entries of this role: user, assistant, toolResult, ...")
    ] = None,
    tool: Annotated[str | None, typer.Option(help="Only entries of this tool, such as bash.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help=f"{FORMS}.")] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="The same; a date includes that whole day.")
    ] = None,
    page: Annotated[int, typer.Option(min=1, max=_MAX_PAGE, help="Which page of what was found.")] = 1,
    page_size: Annotated[
        int | None, typer.Option(min=1, max=MAX_PAGE_SIZE, help="Places on a page; else 25.")
    ] = None,
    verify: Annotated[
        MemoryVerify | None,
        typer.Option(help="How a changed session is noticed; else as in `pi-fabric config`."),
    ] = None,
    detail: Annotated[
        Detail | None, typer.Option(help="Snippets or whole entries; else brief, full with --json.")
    ] = None,
    cwd: ProjectOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Search the sessions of Pi and of other agents, or browse them.

    A date without a time is local midnight; with --until it includes that whole day.
    """
    query = tuple(words or ())
    _check(scope, is_pattern=regex, is_for_words=fold or match != "any")
    args: JsonObject = {"scope": scope, "branches": branches, "page": page, "match": match, "fold": fold}
    args |= _given(query=" ".join(query) or None, role=role, tool=tool, pageSize=page_size)
    args |= _times(since, until)
    args |= {
        "detail": detail or ("full" if as_json else "brief"),
        "queryMode": "regex" if regex else "literal",
    }
    folder = working_folder(cwd)
    config = open_config(folder)
    if verify is not None:
        config = replace(config, verify=verify)
    opener = ""

    async def recall(memory: Memory, progress: Progress | None) -> JsonObject:
        nonlocal opener
        answer = await memory.recall(args, cwd=folder, progress=progress)
        if not as_json and answer.get("segments"):
            first = answer["segments"][0]
            opener = await memory.name_of(first["sessionFile"], first["sessionId"], cwd=folder)
            # It would be taken for an option.
            opener = first["sessionFile"] if opener.startswith("-") else opener
        return answer

    answer = ask(
        recall,
        config=config,
        is_quiet=as_json,
        tries_patterns=regex,
    )
    if as_json:
        emit(stringify(answer, indent=2))
    elif "error" in answer:
        tell_error(answer["error"])
    else:
        chosen = {"--branches": branches, "--match": match, "--role": role, "--tool": tool}
        options = _typed(chosen, since, until, regex=regex, fold=fold)
        asked = _Asked(words=query, options=options, opener=opener)
        _show(args, answer, asked)
    has_found = "error" not in answer and answer["totalItems"] > 0
    raise typer.Exit(ExitCode.OK if has_found else ExitCode.FAILED)


def _check(scope: str, *, is_pattern: bool, is_for_words: bool) -> None:
    check_scope(scope)
    if is_pattern and is_for_words:
        raise RequestError("--regex", "goes with neither --match nor --fold, which are for words")


def _times(since: str | None, until: str | None) -> JsonObject:
    now_ms = SystemClock().wall_ms()
    times: JsonObject = {}
    if since is not None:
        times["since"] = moment_ms(since, option="--since", now_ms=now_ms, is_end=False)
    if until is not None:
        times["until"] = moment_ms(until, option="--until", now_ms=now_ms, is_end=True)
    if len(times) == 2 and times["since"] > times["until"]:
        raise RequestError("--since", "it is later than --until, and nothing lies between")
    return times


def _given(**values: object) -> JsonObject:
    return {name: value for name, value in values.items() if value is not None}


def _typed(
    chosen: dict[str, str | None], since: str | None, until: str | None, *, regex: bool, fold: bool
) -> tuple[str, ...]:
    options = [name for name, is_set in (("--regex", regex), ("--fold", fold)) if is_set]
    for name, value in {**chosen, "--since": since, "--until": until}.items():
        if value is not None and (name, value) not in (("--branches", "active"), ("--match", "any")):
            options += [name, value]
    return tuple(options)


def _show(args: JsonObject, answer: JsonObject, asked: _Asked) -> None:
    print_lines(
        answer_lines(read_query(args), answer, asked.within, asked.opener, os.environ),
        is_terminal=sys.stdout.isatty(),
    )
    problem = answer["coverage"].get("error")
    if problem is not None:
        say(one_paragraph(f"pi-fabric: {problem.get('message') or problem.get('code')}"))
