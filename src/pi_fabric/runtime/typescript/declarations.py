"""Generate what a program is checked against: globals as written, namespaces from the catalogue.

Property types are there to be read. No argument is refused for its type: each parameter also takes any
object, because the host checks arguments again and says more about them than a compiler.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from pi_fabric.protocol.actions import Action
from pi_fabric.runtime.typescript.namespaces import NAMESPACES, Argument, Namespace
from pi_fabric.runtime.typescript.schematypes import argument_type, comment_text, member_key, property_type

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_$-]+")
_REST: Final = {
    "none": (),
    "action": ("  [name: string]: (args?: any) => Promise<any>;",),
    "any": ("  [name: string]: any;",),
}


def generate_declarations(
    actions: Mapping[str, Sequence[Action]],
    *,
    full_code_mode: bool,
    disabled: Collection[str] = (),
) -> str:
    """Write the declarations of everything that a program may use.

    Args:
        actions: Actions on offer, by provider. A provider that is no namespace of the guest is reached
            through `tools.call` and gets no declaration; a namespace without a provider gets a loose
            one, so that the program is told at run time what is missing.
        full_code_mode: False leaves out the namespaces that stand for the host's own tools.
        disabled: Namespaces that a setting switched off; using one is a type error.

    Returns:
        TypeScript; the same bytes for the same actions, in whatever order they come.
    """
    parts = [_globals()]
    for name, namespace in NAMESPACES.items():
        if name in disabled or (namespace.needs_full_code_mode and not full_code_mode):
            continue
        parts.append(_declare(name, namespace, actions.get(name, ())))
    return "\n".join(parts)


@cache
def _globals() -> str:
    return files("pi_fabric.runtime.typescript").joinpath("data", "guest.d.ts").read_text(encoding="utf-8")


def _declare(name: str, namespace: Namespace, actions: Sequence[Action]) -> str:
    described = {action.name: action for action in actions if _PLAIN_NAME.fullmatch(action.name)}
    lines = [f"/** {comment_text(namespace.description)} */", f"declare const {name}: {{"]
    for member in sorted(namespace.members.keys() | described.keys()):
        argument = namespace.members.get(member, "optional")
        lines.extend(_member(member, described.get(member), argument))
    is_unknown = name == "pi" and not described
    lines.extend(_REST["any" if is_unknown else namespace.rest])
    return "\n".join([*lines, "};", ""])


def _member(name: str, action: Action | None, argument: Argument) -> Iterator[str]:
    key = member_key(name)
    if action is None:
        yield f"  {key}{_parameters(argument, 'AnyObject')}: Promise<any>;"
        return
    if action.description:
        yield f"  /** {comment_text(action.description)} */"
    for parameters in _signatures(action, argument):
        yield f"  {key}{parameters}: Promise<{action.returns}>;"


def _parameters(argument: Argument, type_text: str) -> str:
    if argument == "none":
        return "()"
    return f"(args{'?' if argument == 'optional' else ''}: {type_text})"


def _signatures(action: Action, argument: Argument) -> Iterator[str]:
    """Parameter lists: the object, a bare value with options, several values."""
    type_text = argument_type(action.input_schema)
    shape = action.shape
    optional = "?" if argument == "optional" else ""
    if shape is None or argument == "none":
        yield _parameters(argument, type_text)
    elif shape.positional:
        first, *others = shape.positional
        # A first value that may stand alone makes the ones behind it optional.
        is_alone = shape.shorthand == first
        yield f"({'target' if is_alone else 'args'}{optional}: {'string | ' if is_alone else ''}{type_text})"
        mark = "?" if is_alone else ""
        values = [f"{name}{mark}: {property_type(action.input_schema, name)}" for name in others]
        yield f"({', '.join([f'{first}: string', *values])})"
    elif shape.shorthand:
        yield f"({shape.shorthand}{optional}: string | {type_text}, ...options: CallOptions[])"
    else:
        yield _parameters(argument, type_text)
