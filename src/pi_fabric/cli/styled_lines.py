"""Lines with marked words: in colour and folded on a terminal, plain and whole for everything else."""

from collections.abc import Iterable
from dataclasses import dataclass

from pi_fabric.cli.output import emit, table_console


@dataclass(frozen=True, slots=True, kw_only=True)
class StyledLine:
    """One line of what a command shows; its text must be printable."""

    text: str
    indent: int = 0
    """Columns before it, and before what is folded of it."""
    style: str = ""
    """Rich's name for how all of it looks on a terminal."""
    marks: tuple[tuple[int, int], ...] = ()
    """From where to where in `text` words stand out."""
    is_whole: bool = False
    """True for what is to be copied: never folded."""


# As grep shows what it has found; without colour the bold remains.
MARK_STYLE = "bold red"


def print_lines(lines: Iterable[StyledLine], *, is_terminal: bool) -> None:
    """Write lines to standard output.

    Args:
        lines: In their order.
        is_terminal: True folds them at 80 columns and shows how they look.
    """
    if not is_terminal:
        emit("\n".join(f"{' ' * line.indent}{line.text}".rstrip() for line in lines))
        return
    from rich.padding import Padding  # noqa: PLC0415 - only people pay for rich
    from rich.text import Text  # noqa: PLC0415 - as above

    with table_console() as console:
        for line in lines:
            # A Text is never read as markup, whatever a session says.
            text = Text(line.text, style=line.style)
            for start, end in line.marks:
                text.stylize(MARK_STYLE, start, end)
            if line.is_whole or not line.text:
                console.print(Text(" " * line.indent) + text, soft_wrap=True)
            else:
                console.print(Padding(text, (0, 0, 0, line.indent), expand=False))
