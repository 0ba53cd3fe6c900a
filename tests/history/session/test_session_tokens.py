import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_fabric.base.jsonvalue import Json, JsonObject
from pi_fabric.history.session import estimate_tokens, usage_tokens

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
ROLES = ("assistant", "bashExecution", "branchSummary", "compactionSummary", "custom", "system", "user")


@pytest.mark.requirement("session:tokens:chars")
@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        ({"role": "user", "content": "abcde"}, 2),
        ({"role": "user", "content": ""}, 0),
        ({"role": "user", "content": [{"type": "text", "text": "abcd"}, {"type": "text"}]}, 1),
        ({"role": "toolResult", "content": [{"type": "text", "text": "abcd"}, {"type": "image"}]}, 1201),
        ({"role": "custom", "content": "12345678"}, 2),
        ({"role": "bashExecution", "command": "ls", "output": "abc"}, 2),
        ({"role": "compactionSummary", "summary": "12345"}, 2),
        ({"role": "branchSummary", "summary": "1234"}, 1),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "12345678"}]}, 2),
        ({"role": "system", "content": "1234", "sections": {"a": "1234", "b": None}}, 2),
        ({"role": "weird", "content": "12345678"}, 0),
    ],
)
def test_a_message_counts_a_token_for_four_characters_begun(message: JsonObject, tokens: int) -> None:
    assert estimate_tokens(message) == tokens


@pytest.mark.requirement("session:tokens:chars")
def test_an_emoji_counts_two_characters() -> None:
    assert estimate_tokens({"role": "user", "content": "🚀" * 4}) == 2


@pytest.mark.requirement("session:tokens:tool-calls")
def test_a_tool_call_counts_its_name_and_its_arguments_as_javascript_writes_them() -> None:
    call = {"type": "toolCall", "name": "run", "arguments": {"b": 1.0, "2": "é", "a": 1e21}}
    written = '{"2":"é","b":1,"a":1e+21}'

    assert estimate_tokens({"role": "assistant", "content": [call]}) == -(-(3 + len(written)) // 4)


@pytest.mark.requirement("session:tokens:tool-calls")
def test_tools_that_a_system_message_adds_count_as_javascript_writes_them() -> None:
    message = {"role": "system", "content": "", "toolsAdded": [{"name": "read"}]}

    assert estimate_tokens(message) == -(-len('[{"name":"read"}]') // 4)


@pytest.mark.requirement("session:tokens:image")
def test_an_image_counts_1200_tokens_however_large_it_is() -> None:
    image = {"type": "image", "data": "A" * 300_000, "mimeType": "image/png"}

    assert estimate_tokens({"role": "toolResult", "content": [image]}) == 1200


@pytest.mark.requirement("session:tokens:malformed")
@pytest.mark.parametrize(
    "content", [None, 5, [None, 5, "text"], [{"type": "text", "text": 5}], [{"type": "toolCall"}]]
)
def test_what_is_malformed_counts_nothing(content: Json) -> None:
    assert [estimate_tokens({"role": role, "content": content}) for role in ROLES] == [0] * len(ROLES)


@pytest.mark.requirement("session:tokens:malformed")
@given(role=st.sampled_from(ROLES) | JSON, fields=st.dictionaries(st.text(max_size=9), JSON), content=JSON)
def test_any_message_has_an_estimate(role: Json, fields: JsonObject, content: Json) -> None:
    assert estimate_tokens({**fields, "role": role, "content": content}) >= 0


@pytest.mark.requirement("session:tokens:usage")
@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 50}, 50),
        ({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 0}, 10),
        ({"input": 1}, 1),
        ({"totalTokens": True, "input": "7"}, 0),
        (None, 0),
    ],
)
def test_usage_is_the_total_or_else_the_sum_of_its_parts(usage: Json, tokens: int) -> None:
    assert usage_tokens({"role": "assistant", "usage": usage}) == tokens


@pytest.mark.requirement("session:tokens:usage")
def test_only_an_assistant_reports_usage() -> None:
    assert usage_tokens({"role": "user", "usage": {"totalTokens": 5}}) == 0
