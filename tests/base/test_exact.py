import math

import pytest

from pi_fabric.base.exact import is_count, is_version, object_with
from pi_fabric.base.jsonvalue import Json

REQUIRED, OPTIONAL = frozenset({"a"}), frozenset({"b"})


@pytest.mark.parametrize("value", [{"a": 1}, {"a": 1, "b": 2}])
def test_an_object_with_the_right_keys_is_given_back(value: Json) -> None:
    assert object_with(value, REQUIRED, OPTIONAL) is value


@pytest.mark.parametrize("value", [None, [], "a", {}, {"b": 2}, {"a": 1, "c": 3}])
def test_a_missing_or_unknown_key_makes_no_record(value: Json) -> None:
    assert object_with(value, REQUIRED, OPTIONAL) is None


@pytest.mark.parametrize("value", [0, 1, 2.0, 2**53 - 1])
def test_a_count_is_a_safe_integer(value: Json) -> None:
    assert is_count(value)


@pytest.mark.parametrize("value", [-1, 1.5, True, "1", None, 2**53, math.inf, math.nan])
def test_nothing_else_is_a_count(value: Json) -> None:
    assert not is_count(value)


def test_true_is_not_version_one() -> None:
    assert is_version(1.0, 1)
    assert not is_version(True, 1)
