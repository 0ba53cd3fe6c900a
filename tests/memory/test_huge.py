"""One session that is larger than the memory that indexing may take."""

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from pi_fabric.base.process import PIPE, child_process, inherited_environment
from pi_fabric.memory.hot_index import HotIndexBuilder
from pi_fabric.memory.model import Entry
from tests.memory.index_lab import PROJECT, Lab, header, message, names, set_minute

ROOT = Path(__file__).resolve().parents[2]
MIB = 1024 * 1024
# Of the process that builds the record, whatever the size of the session; the interpreter is part of it.
BOUND_MIB = 400
LINE_ID = "huge-line"

pytestmark = pytest.mark.timeout(900)

in_full = pytest.mark.skipif(
    not os.environ.get("PI_FABRIC_HUGE"), reason="takes a minute and 700 MB; set PI_FABRIC_HUGE=1"
)


def write_huge(path: Path, size_mib: int, line_mib: int) -> int:
    """A session with one long line in its middle; characters of that line's text."""
    chance = random.Random(size_mib)
    words = [f"word{number}" for number in range(8_000)]
    texts = [" ".join(chance.choices(words, k=1_000)) for _ in range(50)]
    long_text = ("lorem ipsum " * (line_mib * MIB // 12)) + "needleend"
    path.parent.mkdir(parents=True)
    count, size, parent = 0, 0, None
    with path.open("wb") as stream:
        stream.write(json.dumps(header("huge")).encode() + b"\n")
        is_written = False
        while size < (size_mib - line_mib) * MIB:
            text = f"unique{count} " + texts[count % len(texts)]
            size += stream.write(json.dumps(message(f"e{count}", parent, text)).encode() + b"\n")
            parent = f"e{count}"
            count += 1
            if not is_written and size > (size_mib - line_mib) * MIB // 2:
                stream.write(json.dumps(message(LINE_ID, parent, long_text)).encode() + b"\n")
                parent = LINE_ID
                is_written = True
        stream.write(json.dumps(message("last", parent, "farewell")).encode() + b"\n")
    set_minute(path, 0)
    return len(long_text)


async def ask_in_child(lab: Lab, tier: str) -> dict[str, Any]:
    order = {
        "root": str(lab.root),
        "settings": {
            "hot_sessions": 1 if tier == "hot" else 0,
            "index_dir": str(lab.index),
            "max_sync_source_bytes": 2**31,
            # Enough for every word and address.
            "max_cold_vocabulary_bytes": 64 * MIB,
            "max_cold_cache_bytes": 128 * MIB,
        },
        "queries": ["farewell", "needleend", "unique7"],
        "opens": {"session": str(lab.path("huge")), "entryIds": [LINE_ID, "last"]},
    }
    argv = [sys.executable, "-m", "tests.memory.indexing_child", json.dumps(order)]
    with anyio.fail_after(800):
        async with child_process(argv, cwd=ROOT, env=inherited_environment(), stdout=PIPE) as process:
            assert process.stdout is not None
            return json.loads(b"".join([chunk async for chunk in process.stdout]))


@pytest.mark.anyio
@pytest.mark.requirement("memory:index:huge")
@pytest.mark.parametrize("tier", ["hot", "cold"])
@pytest.mark.parametrize(
    ("size_mib", "line_mib", "bound_mib"),
    [
        pytest.param(100, 20, 200, id="100MB"),
        pytest.param(700, 50, BOUND_MIB, id="700MB", marks=in_full),
    ],
)
async def test_a_huge_session_with_a_huge_line_is_indexed_within_a_bound(
    tmp_path: Path, size_mib: int, line_mib: int, bound_mib: int, tier: str
) -> None:
    lab = Lab.at(tmp_path)
    chars = await anyio.to_thread.run_sync(write_huge, lab.path("huge", PROJECT), size_mib, line_mib)

    told = await ask_in_child(lab, tier)

    farewell, beyond, unique = told["answers"]
    assert names(farewell) == names(unique) == ["huge"]
    # A hot record has the first part of each entry, a cold one the words of all of it.
    assert names(beyond) == (["huge"] if tier == "cold" else [])
    assert farewell["coverage"]["reasons"] == ([] if tier == "cold" else ["max_entry_chars"])
    assert told["opened"] == [[LINE_ID, chars], ["last", len("farewell")]]
    assert told["peak"]["own"] < bound_mib, told
    assert told["peak"]["children"] < bound_mib, told
    assert told["peak_opening"]["own"] < bound_mib, told


@pytest.mark.requirement("memory:index:huge")
@pytest.mark.parametrize("max_open_pairs", [0, 5, 40])
def test_pairs_that_are_put_away_early_lead_to_the_same_entries(max_open_pairs: int) -> None:
    chance = random.Random(3)
    texts = [" ".join(chance.choices(["parseTree", "a.b", "tree", "foo_bar", "x"], k=7)) for _ in range(30)]
    plain, small = (
        HotIndexBuilder(max_fold_bytes=1_000, max_open_pairs=pairs) for pairs in (10_000, max_open_pairs)
    )
    for index in (plain, small):
        for at, text in enumerate(texts):
            index.add(entry_of(at, text))

    assert b"".join(small.words_file()) == b"".join(plain.words_file())
    assert b"".join(small.folded_file()) == b"".join(plain.folded_file())
    for word in (b"parsetree", b"parse", b"absent"):
        assert small.words.find(word) == plain.words.find(word)
        assert small.folded.find(word) == plain.folded.find(word)
    assert small.is_fold_complete
    assert small.folded.find_prefix(b"") == plain.folded.find_prefix(b"")


def entry_of(index: int, text: str) -> Entry:
    """An entry that only says something."""
    return Entry(
        session_file="",
        session_id="",
        entry_id=None,
        parent_id=None,
        type="message",
        role="user",
        tool_name=None,
        text=text,
        timestamp=None,
        is_error=False,
        truncated=False,
        index=index,
    )
