"""Bring what a program wrote into the one argument object that an action takes.

Two entries: `shape_call` for the values of a call such as `pi.grep("x", "src")`, and `canonical` for an
object with other names for the same things. Neither looks at types; `arguments` does.
"""

from collections.abc import Mapping, Sequence

from pi_fabric.base.jsonvalue import Json, JsonObject, is_array, is_number, is_object
from pi_fabric.protocol.actions import CallShape

_ONE_OBJECT = CallShape()


def shape_call(shape: CallShape | None, values: Sequence[Json]) -> JsonObject:
    """Turn the values of one call into its argument object; what fits no shape counts as absent.

    One object is taken as it is, a lone string by the shorthand, two or more values by position; an
    object behind positional values adds the names that they did not set.
    """
    return canonical(shape or _ONE_OBJECT, _gather_values(shape or _ONE_OBJECT, values))


def canonical(shape: CallShape, args: JsonObject) -> JsonObject:
    """Rename aliases, convert milliseconds, and gather flat names into their list.

    A canonical name beats its aliases. Returns `args` itself when nothing had to change.
    """
    named = _rename(_convert_milliseconds(args, shape.milliseconds), shape.aliases)
    for name, flat in shape.gathered.items():
        named = _gather_flat(named, name, flat)
    for name, aliases in shape.elements.items():
        elements = named.get(name)
        if is_array(elements):
            renamed = [_rename(item, aliases) if is_object(item) else item for item in elements]
            if renamed != elements:
                named = {**named, name: renamed}
    return named


def _gather_values(shape: CallShape, values: Sequence[Json]) -> JsonObject:
    first = values[0] if values else None
    if is_object(first):
        return first
    if not isinstance(first, str):
        return {}
    names = shape.positional if len(values) > 1 else ()
    if not names and shape.shorthand is not None:
        names = (shape.shorthand,)
    placed: JsonObject = {
        name: value
        for name, value in zip(names, values, strict=False)
        if isinstance(value, str | int | float | bool)
    }
    options = [value for value in values[1:] if is_object(value)]
    return {**options[0], **placed} if options else placed


def _rename(args: JsonObject, aliases: Mapping[str, tuple[str, ...]]) -> JsonObject:
    renamed: JsonObject = {}
    to_canonical = {alias: name for name, others in aliases.items() for alias in others}
    if not any(key in to_canonical for key in args):
        return args
    for key, value in args.items():
        name = to_canonical.get(key, key)
        if name == key or (name not in args and name not in renamed):
            renamed[name] = value
    return renamed


def _convert_milliseconds(args: JsonObject, milliseconds: Mapping[str, str]) -> JsonObject:
    if not any(key in milliseconds for key in args):
        return args
    converted = {key: value for key, value in args.items() if key not in milliseconds}
    for key, name in milliseconds.items():
        value = args.get(key)
        if value is not None and name not in args:
            converted[name] = _seconds(value)
    return converted


def _seconds(value: Json) -> Json:
    if not is_number(value):
        return value
    seconds = value / 1000
    return int(seconds) if seconds.is_integer() else seconds


def _gather_flat(args: JsonObject, name: str, flat: tuple[str, ...]) -> JsonObject:
    # The first flat name alone does not make an element of a list that is already given.
    if is_array(args.get(name)) or not any(key in args for key in flat):
        return args
    element = {key: args[key] for key in flat if key in args}
    rest = {key: value for key, value in args.items() if key not in flat and key != name}
    return {**rest, name: [element]}
