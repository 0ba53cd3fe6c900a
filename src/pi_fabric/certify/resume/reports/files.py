"""Report files: the name says which kind."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pi_fabric.base.errors import RequestError, StoreError
from pi_fabric.base.files import write_atomic
from pi_fabric.base.jsonvalue import stringify
from pi_fabric.certify.resume.reports.as_html import as_html
from pi_fabric.certify.resume.reports.as_json import as_json
from pi_fabric.certify.resume.reports.as_markdown import as_markdown
from pi_fabric.certify.resume.results import Report

KINDS: Final[Mapping[str, Callable[[Report], str]]] = {
    ".html": as_html,
    ".md": as_markdown,
    ".json": lambda report: stringify(as_json(report), indent=2) + "\n",
}


def check_target(path: Path, option: str) -> None:
    """Find out before money is spent whether a report can be written. Blocking.

    Raises:
        RequestError: If the name has no known ending, or the folder is not there.
    """
    if path.suffix.lower() not in KINDS:
        raise RequestError(option, f"{path.name} does not end in {', '.join(KINDS)}")
    if not path.parent.is_dir():
        raise RequestError(option, f"there is no folder {path.parent}")
    if path.is_dir():
        raise RequestError(option, f"{path} is a folder")


def write_report(path: Path, report: Report, scrub: Callable[[str], str]) -> None:
    """Write one report in the kind that its name ends in. Blocking.

    Args:
        path: One that `check_target` has passed.
        report: What was found.
        scrub: Goes over the whole text once more: the last door before the disk.

    Raises:
        StoreError: If it cannot be written.
    """
    text = scrub(KINDS[path.suffix.lower()](report))
    try:
        write_atomic(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise StoreError(path, f"the report cannot be written: {error.strerror or error}") from error
