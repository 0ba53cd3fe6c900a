"""Command lines to copy, read back by a real shell."""

import shutil
import subprocess  # noqa: TID251 - a shell is asked what it reads

import pytest

from pi_fabric.base.shellwords import command_line

BASH = shutil.which("bash")


@pytest.mark.requirement("memory:shell:commands")
@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize(
    "word",
    [
        "plain", "two words", "it's", "a\nb", "\x1b[2Jevil id\n[red]x", "tab\there'quote\\", "\u200d\u202e",
        "\x7f1", "$HOME `x` $'y'", "", "\u8bc4 \u5ba1", "-n",
    ],
)  # fmt: skip
def test_a_shell_reads_what_was_meant(word: str) -> None:
    assert BASH is not None
    line = command_line(["printf", "%s|", word, "last"])
    shown = subprocess.run([BASH, "-c", line], capture_output=True, check=True, timeout=30)

    assert line.isprintable()
    assert shown.stdout.decode() == f"{word}|last|"
