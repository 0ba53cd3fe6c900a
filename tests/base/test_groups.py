import pytest

from pi_fabric.base.groups import sole_exception


def test_a_lone_exception_comes_out_as_itself() -> None:
    error = ValueError("one")
    with pytest.raises(ValueError, match="one") as caught, sole_exception():
        raise ExceptionGroup("outer", [ExceptionGroup("inner", [error])])
    assert caught.value is error


def test_several_exceptions_stay_together() -> None:
    with pytest.raises(ExceptionGroup) as caught, sole_exception():
        raise ExceptionGroup("both", [ValueError("one"), KeyError("two")])
    assert len(caught.value.exceptions) == 2


def test_what_is_no_group_passes() -> None:
    with pytest.raises(KeyError), sole_exception():
        raise KeyError("x")
