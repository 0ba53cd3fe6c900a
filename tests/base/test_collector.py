import gc

import pytest

from pi_fabric.base.collector import collection_paused


def test_nothing_is_collected_while_the_block_is_open() -> None:
    with collection_paused():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_the_collector_runs_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="mine"), collection_paused():
        raise ValueError("mine")

    assert gc.isenabled()


def test_a_pause_within_a_pause_does_not_end_it() -> None:
    with collection_paused():
        with collection_paused():
            pass
        assert not gc.isenabled()
