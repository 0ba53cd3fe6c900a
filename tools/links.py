"""Check that every relative link in the Markdown files leads somewhere: `python tools/links.py`.

Names each broken link with its file and line, and ends with 1 when there is one. Web addresses are not
followed: the check works offline and says the same every time.
"""

import re
import subprocess  # noqa: TID251 - a tool of the house, not part of the package
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6}\s+(?P<title>.+?)\s*#*$", re.MULTILINE)
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Check all Markdown files that git knows; returns the exit code."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    files = [ROOT / line for line in listed.stdout.splitlines()]
    broken = [problem for file in files if file.exists() for problem in problems(file)]
    for problem in broken:
        print(problem)
    print(f"{len(files)} Markdown files, {len(broken)} broken links")
    return 1 if broken else 0


def problems(file: Path) -> Iterator[str]:
    """Each broken link of one file, as `path:line: reason`."""
    text = _FENCED.sub(lambda block: "\n" * block.group().count("\n"), file.read_text(encoding="utf-8"))
    for match in _LINK.finditer(text):
        target = match.group("target")
        if "://" in target or target.startswith("mailto:"):
            continue
        line = text.count("\n", 0, match.start()) + 1
        name, _, anchor = target.partition("#")
        linked = (file.parent / name).resolve() if name else file
        if not linked.exists():
            yield f"{file.relative_to(ROOT)}:{line}: {target} does not exist"
        elif anchor and linked.suffix == ".md" and anchor not in _anchors(linked):
            yield f"{file.relative_to(ROOT)}:{line}: {target} names no heading there"


def _anchors(file: Path) -> set[str]:
    titles = _HEADING.findall(file.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


if __name__ == "__main__":
    sys.exit(main())
