"""The definitions of the tools, in the forms that models' APIs take."""

import jsonschema
import pytest

from recalld import register_all_tools
from recalld.supervisor.interfaces.tools.definitions import DEFINITIONS
from recalld.supervisor.storage.errors import BadRequest


@pytest.fixture
def tools(world):
    world.settle()
    return lambda **options: register_all_tools(world.root, allow_delete=True, **options)


@pytest.mark.feature("000.51")
def test_definitions_show_the_parameters_of_countbot_and_openclaw(tools):
    shown = {
        dialect: {one["name"]: list(one["input_schema"]["properties"]) for one in tools(dialect=dialect).anthropic()}
        for dialect in ("recall", "lines")
    }
    assert shown["recall"]["memory_search"] == ["query", "maxResults", "minScore"]
    assert (shown["recall"]["memory_write"], shown["lines"]["memory_write"]) == (["content", "replaces", "item"], ["content"])
    assert shown["lines"]["memory_search"] == ["keywords", "max_results", "match_mode"]
    for names in shown.values():
        assert names["memory_get"] == ["path", "from", "lines"]
        assert names["memory_read"] == ["start_line", "end_line", "recent_count"]
        assert names["memory_delete"] == ["lines"]


def test_definitions_have_the_defaults_of_countbot_and_openclaw():
    defaults = {one.name: one.default for tool in DEFINITIONS.values() for one in tool.parameters if one.default is not None}
    assert defaults == {"maxResults": 5, "max_results": 15, "match_mode": "or", "recent_count": 10, "from": 1}


@pytest.mark.parametrize("dialect", ["recall", "lines"])
def test_openai_and_anthropic_get_the_same_schemas(tools, dialect):
    made = tools(dialect=dialect)
    functions = [one["function"] for one in made.openai()]
    assert [one["parameters"] for one in functions] == [one["input_schema"] for one in made.anthropic()]
    for function in functions:
        assert function["parameters"]["additionalProperties"] is False
        jsonschema.Draft202012Validator.check_schema(function["parameters"])


def test_definitions_say_which_argument_the_dialect_needs():
    search = DEFINITIONS["memory_search"]
    for dialect, name in (("recall", "query"), ("lines", "keywords")):
        with pytest.raises(BadRequest, match=f"^{name}: memory_search needs it"):
            search.arguments({}, dialect)
    for given in ({"query": "花生"}, {"keywords": "花生"}):
        assert search.arguments(given, "recall") == search.arguments(given, "lines") == given


@pytest.mark.parametrize("arguments", ["{", "[]", "7", '"花生"', "null", "[" * 100_000])
def test_call_says_that_arguments_are_no_object(tools, arguments):
    answer = tools().call("memory_search", arguments)
    assert answer.is_error
    assert answer.text in {"arguments: a JSON object is expected.", "query: memory_search needs it."}
