from pathlib import Path

import pytest

from pi_fabric.host.standalone.globs import BadGlob, compile_glob, name_glob
from pi_fabric.host.standalone.ripgrep import Ripgrep, records

FILES = (
    "src/x.ts", "src/a/y.ts", "lib/src/z.ts", ".h.ts", "b[1].ts", "we{ird}.ts", "src/a/Üb.ts", "a,b.js",
    "src/x.tsx", "src/deep/er/x.test.ts", "x", "src.ts", "docs/a^b.md", "docs/-.md", "*.md",
)  # fmt: skip
GLOBS = (
    "*.ts", "src/*.ts", "/src/*.ts", "src/**/*.ts", "**/src/*.ts", "src/**", "**/*.ts", "**", "*", "?",
    "*.{ts,tsx}", "{src,lib}/**/*.ts", "{src/a,lib}/*", "[!x].ts", "[xy].ts", "[a-y].ts", "x?ts", "Üb.ts",
    "b[[]1].ts", "b\\[1\\].ts", "a,b.*", "a/**/b", "**/er/**", "s*c/*", "[^x].ts", "*.{test,h}.ts", "\\*.md",
    "docs/[-x].md", "docs/a[\\^]b.md", "x**", "src/**x.ts", "{,x}", "{a,{b,we\\{ird\\}}}*",
)  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("glob", GLOBS)
async def test_a_glob_means_what_it_means_to_ripgrep(glob: str, tmp_path: Path):
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    async with Ripgrep().run(["--files", "--null", f"--glob={glob}"], cwd=tmp_path) as run:
        wanted = [
            bytes(path).decode()
            async for path in records(run.stdout, end=b"\0", max_bytes=999)
            if isinstance(path, bytes)
        ]
        assert "error parsing" not in await run.complaint()
    pattern = compile_glob(glob)
    assert {name for name in FILES if pattern.fullmatch(name)} == set(wanted)


@pytest.mark.parametrize("glob", ["*.[", "*.{ts", "{a,{b}", "[]"])
def test_a_glob_that_is_not_closed_is_refused(glob: str):
    with pytest.raises(BadGlob, match="not closed"):
        compile_glob(glob)


@pytest.mark.parametrize(
    ("glob", "name"),
    [
        ("*.ts", "*.ts"),
        ("src/**/*.ts", "*.ts"),
        ("src/**", None),
        ("src/", None),
        ("{a,b/c}.ts", None),
        ("{a/b,c}/x.ts", "x.ts"),
        ("a[/]b", None),
        ("a\\*", None),
    ],
)
def test_the_name_part_of_a_glob_is_known_or_said_to_be_unknown(glob: str, name: str | None):
    assert name_glob(glob) == name
