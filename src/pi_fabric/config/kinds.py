"""Kinds of values: what each accepts, and what a bad value gets instead.

A kind never raises. What it changes it says as a `Fault`, so that a person can find the place.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pi_fabric.base.jsonvalue import Json, is_array, is_finite_number

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One value that was not taken as written."""

    path: tuple[str, ...] = ()
    """Place below the key; empty for the key itself."""
    given: Json
    used: object
    """What counts instead; UNDEFINED when the entry is left out."""
    reason: str
    """Continues the sentence that the bad value begins."""


@dataclass(frozen=True, slots=True)
class Reading(Generic[T_co]):
    """A usable value, and what had to be changed to get it."""

    value: T_co
    faults: tuple[Fault, ...] = ()


class Kind(Protocol[T_co]):
    """What a key may hold."""

    @property
    def hint(self) -> str:
        """What is accepted, for people: `integer, 1 to 32`."""
        ...

    @property
    def is_map(self) -> bool:
        """True when the value is an object whose names the user chooses."""
        ...

    def initial(self) -> T_co:
        """The default."""
        ...

    def read(self, value: Json) -> Reading[T_co]:
        """Take a value that is present; total on JSON."""
        ...


@dataclass(frozen=True, slots=True)
class Scalar(Generic[T]):
    """A kind with one default that a bad value gets."""

    default: T

    @property
    def is_map(self) -> bool:
        """Never."""
        return False

    def initial(self) -> T:
        """The default."""
        return self.default

    def refused(self, value: Json, reason: str) -> Reading[T]:
        """The default, and why."""
        return Reading(self.default, (Fault(given=value, used=self.default, reason=reason),))


@dataclass(frozen=True, slots=True)
class Boolean(Scalar[bool]):
    """True or false, and no stand-ins for them."""

    @property
    def hint(self) -> str:
        """`true or false`."""
        return "true or false"

    def read(self, value: Json) -> Reading[bool]:
        """Take a boolean; anything else gets the default."""
        return Reading(value) if isinstance(value, bool) else self.refused(value, "is not true or false")


@dataclass(frozen=True, slots=True)
class Integer(Scalar[int]):
    """A whole number, clamped. `5.0` is whole, as it is in JavaScript."""

    minimum: int
    maximum: int | None
    """None: the bound depends on the machine and is applied when the whole is known."""

    @property
    def hint(self) -> str:
        """The range."""
        top = "up" if self.maximum is None else f"to {self.maximum:,}"
        return f"integer, {self.minimum:,} {top}"

    def read(self, value: Json) -> Reading[int]:
        """Take a whole number, clamped into the range."""
        number = whole_number(value)
        if number is None:
            return self.refused(value, "is not a whole number")
        return clamped(value, number, self.minimum, self.maximum)


@dataclass(frozen=True, slots=True)
class Number(Scalar[float]):
    """A finite number, clamped."""

    minimum: float
    maximum: float

    @property
    def hint(self) -> str:
        """The range."""
        return f"number, {self.minimum:,} to {self.maximum:,}"

    def read(self, value: Json) -> Reading[float]:
        """Take a finite number, clamped into the range."""
        if not is_finite_number(value):
            return self.refused(value, "is not a number")
        return clamped(value, value, self.minimum, self.maximum)


@dataclass(frozen=True, slots=True)
class Word(Scalar[T]):
    """One of a closed set of words; their order is the order of a menu, loosest policy first."""

    words: tuple[T, ...]

    @property
    def hint(self) -> str:
        """The words."""
        return _listed(self.words)

    def read(self, value: Json) -> Reading[T]:
        """Take a word of the set, exactly as spelled."""
        for word in self.words:
            if word == value:
                return Reading(word)
        return self.refused(value, f"is none of {self.hint}")


@dataclass(frozen=True, slots=True)
class Text(Scalar[T]):
    """A string; a blank one counts as absent and so gives the default, which may be None."""

    @property
    def hint(self) -> str:
        """`string`."""
        return "string"

    def read(self, value: Json) -> Reading[str | T]:
        """Take a string that is not blank."""
        if not isinstance(value, str):
            return self.refused(value, "is not a string")
        if "\0" in value:
            # No name of a file, model or host can hold one.
            return self.refused(value, "holds a NUL character")
        return Reading(value if value.strip() else self.default)


@dataclass(frozen=True, slots=True)
class Names(Scalar[tuple[str, ...]]):
    """A list of names: its non-empty strings are kept, in order."""

    is_unique: bool = False
    """True drops repeats."""

    @property
    def hint(self) -> str:
        """`list of names`."""
        return "list of names"

    def read(self, value: Json) -> Reading[tuple[str, ...]]:
        """Take a list; what in it is no name is dropped."""
        if not is_array(value):
            return self.refused(value, "is not a list")
        named = [item for item in value if isinstance(item, str) and item]
        kept = tuple(dict.fromkeys(named)) if self.is_unique else tuple(named)
        if len(kept) == len(value):
            return Reading(kept)
        reason = "holds items that are not names" if len(named) < len(value) else "names something twice"
        return Reading(kept, (Fault(given=value, used=kept, reason=reason),))


@dataclass(frozen=True, slots=True)
class WordList(Scalar[tuple[T, ...]]):
    """A list of words from a closed set, at least one, without repeats."""

    words: tuple[T, ...]

    @property
    def hint(self) -> str:
        """The words."""
        return f"list of {_listed(self.words)}"

    def read(self, value: Json) -> Reading[tuple[T, ...]]:
        """Take a list; words outside the set are dropped, and an empty rest gets the default."""
        if not is_array(value):
            return self.refused(value, "is not a list")
        kept = tuple(word for word in self.words if word in value)
        if not kept:
            return self.refused(value, f"names none of {_listed(self.words)}")
        if len(kept) == len(value):
            return Reading(kept)
        return Reading(kept, (Fault(given=value, used=kept, reason=f"holds more than {self.hint}"),))


def whole_number(value: Json) -> int | None:
    """The integer that JavaScript would see in a JSON number; None for any other value."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def clamped(given: Json, number: N, minimum: N, maximum: N | None) -> Reading[N]:
    """`number` moved into its range, with the fault that says so."""
    used, reason = number, ""
    if number < minimum:
        used, reason = minimum, "is below the minimum"
    elif maximum is not None and number > maximum:
        used, reason = maximum, "is above the maximum"
    return Reading(used, (Fault(given=given, used=used, reason=reason),) if reason else ())


def _listed(words: Iterable[object]) -> str:
    return ", ".join(str(word) for word in words)
