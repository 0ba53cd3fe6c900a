"""Which of the compiler's errors refuse a program, and how they are said.

Checking is for mistakes that could never run: unknown names, wrong numbers of arguments, bad syntax.
Where a type merely disagrees, the program may still be right, and the host checks arguments anyway.
"""

import re
from collections.abc import Sequence
from typing import Final

from pi_fabric.base.bounds import clip_bytes
from pi_fabric.runtime.typescript.lines import Lines
from pi_fabric.runtime.typescript.model import Diagnostic
from pi_fabric.runtime.typescript.reported import Reported
from pi_fabric.runtime.typescript.wrapper import CHARS_BEFORE

IGNORED_CODES: Final = frozenset(
    {2339, 2551, 2322, 2345, 2367, 2531, 2532, 18047, 18048, 7006, 7008, 7019, 7031, 7032, 7033, 7034}
)
"""Types that disagree, properties that are not declared, values that may be null or `any`."""

IGNORED_ARGUMENT_CODES: Final = frozenset({2739, 2740, 2741})
"""Missing properties, which older compilers reported as 2345 at an argument."""

# The one disagreement that stands: a second value where only options can follow.
_WRONG_ARGUMENT: Final = 2345
_OPTIONS_PARAMETER: Final = "to parameter of type 'CallOptions'"

# `import`, `export` and `export default` where only statements can stand.
_MODULE_CODES: Final = frozenset({1231, 1232, 1233, 1258, 1473, 1474})
_MODIFIER_MISPLACED: Final = 1184
_CANNOT_LOAD_CODES: Final = frozenset({2306, 2307, 2732, 2792, 2834, 2835})
# A name that only Node's types know; at a quote it is the module of an `import()`.
_NODE_CODES: Final = frozenset({2580, 2591})
_HASHBANG: Final = 18026
# The compiler's advice to install type packages or to aim at a later language: neither is possible here.
_ADVICE: Final = re.compile(r"\s*(?:Do you need to|Try ).*", re.DOTALL)

CLOSES_PROGRAM: Final = 1128
# Enough to work on; a program in another language has one problem a word.
MAX_PROBLEMS: Final = 50
MAX_MESSAGE_BYTES: Final = 500


def judge(reported: Sequence[Reported], code: str) -> list[Diagnostic]:
    """Keep what refuses the program, in positions of the submitted text.

    Args:
        reported: Errors in the wrapped program.
        code: Submitted text.
    """
    lines = Lines(code)
    arguments = _argument_starts(reported, code)
    return [_diagnostic(problem, code, lines) for problem in reported if _refuses(problem, arguments)]


def _argument_starts(reported: Sequence[Reported], code: str) -> frozenset[int]:
    if not any(problem.code in IGNORED_ARGUMENT_CODES for problem in reported):
        return frozenset()
    from pi_fabric.runtime.typescript.callsites import argument_starts  # noqa: PLC0415 - rare, costs 6 ms

    return argument_starts(code)


def early_close(offset: int, code: str) -> Diagnostic:
    """The refusal of a program that closes the function around it.

    Args:
        offset: Of the brace, in the wrapped program.
        code: Submitted text.
    """
    message = "this } has no { before it: it would end the function that the program runs in"
    problem = Reported(offset=offset, code=CLOSES_PROGRAM, message=message)
    return _diagnostic(problem, code, Lines(code))


def _refuses(problem: Reported, arguments: frozenset[int]) -> bool:
    if problem.code == _WRONG_ARGUMENT and _OPTIONS_PARAMETER in problem.message:
        return True
    if problem.code in IGNORED_ARGUMENT_CODES:
        return problem.offset - CHARS_BEFORE not in arguments
    return problem.code not in IGNORED_CODES


def _diagnostic(problem: Reported, code: str, lines: Lines) -> Diagnostic:
    # What the compiler reports behind the program, a missing brace, belongs to the program's end.
    line, column = lines.position(problem.offset - CHARS_BEFORE)
    return Diagnostic(
        line=line + 1,
        column=column + 1,
        code=problem.code,
        message=clip_bytes(_message(problem, code), MAX_MESSAGE_BYTES),
        is_syntax=problem.code < 2000 or problem.code == _HASHBANG,
    )


def _message(problem: Reported, code: str) -> str:
    if problem.code == _WRONG_ARGUMENT:
        return "too many or wrong arguments: pass one object, or one value and an object of options"
    start = problem.offset - CHARS_BEFORE
    if problem.code in _MODULE_CODES or (
        problem.code == _MODIFIER_MISPLACED and code.startswith("export", start)
    ):
        return "a program cannot import or export: it is the body of one function; return the result"
    if problem.code in _CANNOT_LOAD_CODES or (
        problem.code in _NODE_CODES and code.startswith(("require", "'", '"'), start)
    ):
        return "a program cannot load modules: what it can use is pi, tools and the other namespaces"
    text = " ".join(problem.message.split())
    said = _ADVICE.sub("", text)
    return text if said == text else f"{said} A program has ES2022 and Fabric's namespaces only."
