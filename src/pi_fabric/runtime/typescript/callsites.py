"""Find where the arguments of calls start in a program."""

from pygments.lexers.javascript import TypeScriptLexer
from pygments.token import Comment, Keyword, Name, Punctuation, String, Text

# What an opening parenthesis calls ends in one of these; `?.(` comes as three tokens.
_CALLABLE_ENDS = frozenset({")", "]", "}", ">", ".", "super", "this"})


def argument_starts(code: str) -> frozenset[int]:
    """Offsets at which an argument of a call or of `new` starts.

    Reads tokens, not a tree: a few parentheses that only group may count as calls. Takes some 50 ms for
    100 KB.
    """
    starts: set[int] = set()
    # For each open bracket: does it hold the arguments of a call?
    calls: list[bool] = []
    is_callable = is_next_argument = False
    for offset, kind, text in TypeScriptLexer().get_tokens_unprocessed(code):
        if kind in Text or kind in Comment:
            continue
        if is_next_argument:
            starts.add(offset)
        if kind in Punctuation and text in ("(", "[", "{"):
            calls.append(text == "(" and is_callable)
        elif kind in Punctuation and text in (")", "]", "}") and calls:
            calls.pop()
        is_next_argument = kind in Punctuation and text in ("(", ",") and bool(calls) and calls[-1]
        is_callable = (kind in Name or kind in String or text in _CALLABLE_ENDS) and kind not in Keyword.Type
    return frozenset(starts)
