import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.session import read_session
from pi_fabric.history.session.sharing import share_words

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["type", "role", "name", "x"]), inner),
    max_leaves=12,
)


def answer(entry_id: str, parent: str | None) -> JsonObject:
    part = {"type": "text", "text": entry_id}
    message = {"role": "assistant", "model": "a model", "content": [part]}
    return {"type": "message", "id": entry_id, "parentId": parent, "message": message}


def test_words_that_come_again_are_held_once(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    lines = [{"type": "session", "version": 3, "id": "s"}, answer("a", None), answer("b", "a")]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    first, second = read_session(file).entries
    assert first["type"] is second["type"]
    for name in ("role", "model"):
        assert first["message"][name] is second["message"][name]
    assert first["message"]["content"][0]["type"] is second["message"]["content"][0]["type"]


@given(message=JSON, content=JSON, kind=JSON)
def test_an_entry_stays_equal_whatever_it_holds(message: Json, content: Json, kind: Json) -> None:
    for entry in ({"type": kind, "message": message}, {"message": {"role": kind, "content": [content]}}):
        before = json.dumps(entry)
        share_words(entry)
        assert json.dumps(entry) == before
