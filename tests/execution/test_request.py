import pytest

from pi_fabric.base.errors import InvalidArguments
from pi_fabric.execution.request import parse_request, strip_fence


@pytest.mark.requirement("exec:request:code")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"code": "return 1"}, "return 1"),
        ("return 1", "return 1"),
        ({"code": ["const a = 1;", "return a"]}, "const a = 1;\nreturn a"),
        ({"code": "return 1", "strings": None, "resultFormat": None, "display": None}, "return 1"),
    ],
)
def test_the_program_is_read_from_every_form_that_models_send(arguments: object, code: str) -> None:
    assert parse_request(arguments).code == code


@pytest.mark.requirement("exec:request:code")
@pytest.mark.parametrize("arguments", [{}, {"code": None}, {"code": 5}, {"code": ["a", 1]}, None, []])
def test_a_request_without_a_program_is_refused(arguments: object) -> None:
    with pytest.raises(InvalidArguments, match="code"):
        parse_request(arguments)


@pytest.mark.requirement("exec:request:display")
def test_display_may_be_a_bare_title_and_its_other_keys_are_ignored() -> None:
    assert parse_request({"code": "", "display": "Build"}).display_name == "Build"
    request = parse_request({"code": "", "display": {"name": "B", "description": "d", "icon": 7}})
    assert (request.display_name, request.display_description) == ("B", "d")


@pytest.mark.requirement("exec:request:budgets")
def test_budgets_and_format_are_validated() -> None:
    request = parse_request({"code": "", "tokenBudget": "500", "agentBudget": 2, "resultFormat": "yaml"})
    assert (request.token_budget, request.agent_budget, request.result_format) == (500, 2, "yaml")
    for wrong in ({"tokenBudget": 0}, {"agentBudget": -1}, {"resultFormat": "xml"}, {"strings": {"a": 1}}):
        with pytest.raises(InvalidArguments, match=next(iter(wrong))):
            parse_request({"code": "", **wrong})


@pytest.mark.requirement("exec:request:fence")
@pytest.mark.parametrize(
    ("code", "stripped"),
    [
        ("```ts\nreturn 1\n```", "return 1"),
        ("\n```typescript\r\nreturn 1\r\n```\n", "return 1"),
        ("````\nreturn `a`\n````", "return `a`"),
        ("return '```'", "return '```'"),
        ("```ts\nreturn 1", "```ts\nreturn 1"),
        ("const a = `x`;\n```js\n1\n```", "const a = `x`;\n```js\n1\n```"),
    ],
)
def test_one_fence_around_the_whole_program_is_taken_off(code: str, stripped: str) -> None:
    assert strip_fence(code) == stripped


def test_named_strings_arrive_byte_identical() -> None:
    payload = "`${x}` \\ \u2028 \r\n \0 😀"
    assert parse_request({"code": "", "strings": {"p": payload, "__proto__": "q"}}).strings == {
        "p": payload,
        "__proto__": "q",
    }
