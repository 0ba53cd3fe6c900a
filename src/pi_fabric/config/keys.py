"""How a key of the configuration is declared, and how the declarations are walked.

A section is a frozen dataclass whose fields are made by `setting` and `section`. The declaration is the
only place where a key's kind, default, bounds, words and description are written: normalization, `config
show`, the settings view and the reference page all walk it.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Final, Literal, TypeVar, cast

from pi_fabric.base.jsonvalue import UNDEFINED, Json, JsonObject, is_object
from pi_fabric.config.kinds import Kind

T = TypeVar("T")
S = TypeVar("S", bound="Section")
_KEY: Final = "pi_fabric.key"
_SECTION: Final = "pi_fabric.section"

Widens = Literal["never", "always", "when_looser"]
"""Whether a project that is trusted by default alone may decide a key; see `config.trust`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of `fabric.json`."""

    path: tuple[str, ...]
    """Names from the top of the file; relative to its section where it is declared."""
    kind: Kind[object]
    description: str
    """One line."""
    widens: Widens
    fields: tuple[str, ...]
    """Attribute names that lead to the value, from the same place as `path`."""

    @property
    def name(self) -> str:
        """Dotted path, as people write it."""
        return ".".join(self.path)

    def value_in(self, config: "Section") -> object:
        """The value that a configuration holds for this key."""
        return reduce(getattr, self.fields, cast("object", config))


class Section:
    """Base of every section: knows how to write itself as `fabric.json` does."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def to_json(self) -> JsonObject:
        """The specification's shape: camel-case keys in declared order, absent values left out."""
        written: JsonObject = {}
        for field in dataclasses.fields(self):
            value = plain(getattr(self, field.name))
            if value is not None:
                written[json_name(field)] = value
        return written


def setting(kind: Kind[T], description: str, *, name: str | None = None, widens: Widens = "never") -> T:
    """Declare a key.

    Args:
        kind: What it may hold, with default and bounds.
        description: One line for people.
        name: Key in the file when it is not the field's name in camel case.
        widens: What a project that is trusted by default alone may not decide.
    """
    metadata = {_KEY: (kind, description, widens), "name": name}
    return dataclasses.field(default_factory=kind.initial, metadata=metadata)


def section(kind: type[S]) -> S:
    """Declare a nested section."""
    return cast("S", dataclasses.field(default_factory=kind, metadata={_SECTION: kind, "name": None}))


def members(kind: type[Section]) -> Iterator[tuple[str, Key | type[Section]]]:
    """Field name with the key or section it declares, in order; key paths are relative."""
    for field in dataclasses.fields(kind):
        nested = field.metadata.get(_SECTION)
        if nested is not None:
            yield field.name, nested
        else:
            of, description, widens = field.metadata[_KEY]
            path = (json_name(field),)
            key = Key(path=path, kind=of, description=description, widens=widens, fields=(field.name,))
            yield field.name, key


def walk(kind: type[Section]) -> Iterator[Key]:
    """Every key below a section, in order, with paths from there."""
    for name, member in members(kind):
        if isinstance(member, Key):
            yield member
            continue
        for key in walk(member):
            path, fields = (camel_case(name), *key.path), (name, *key.fields)
            yield dataclasses.replace(key, path=path, fields=fields)


def json_name(field: "dataclasses.Field[Any]") -> str:
    """The key that a field has in the file."""
    return field.metadata["name"] or camel_case(field.name)


def camel_case(name: str) -> str:
    """`timeout_ms` as `timeoutMs`."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def value_at(value: JsonObject, path: tuple[str, ...]) -> Json:
    """What an object holds at a path; UNDEFINED when a part of the path is missing."""
    found: Json = value
    for name in path:
        if not is_object(found) or name not in found:
            return UNDEFINED
        found = found[name]
    return found


def plain(value: object) -> Json:
    """A configured value as JSON."""
    if isinstance(value, Section):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in cast("Mapping[str, object]", value).items()}
    if isinstance(value, tuple):
        return [plain(item) for item in cast("tuple[object, ...]", value)]
    return value
