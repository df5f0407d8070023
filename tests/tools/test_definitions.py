"""The definitions of the tools, in the forms that models' APIs take."""

from __future__ import annotations

import re

import jsonschema
import pytest

from recalld import register_all_tools
from recalld.supervisor.interfaces.tools.answers import ANSWERS, output_schema
from recalld.supervisor.interfaces.tools.definitions import DEFINITIONS
from recalld.supervisor.storage.errors import BadRequest

#: The keywords that OpenAI's strict mode knows.
STRICT = {"type", "description", "enum", "items", "properties", "required", "additionalProperties"}


@pytest.fixture
def tools(world):
    world.settle()
    return lambda **options: register_all_tools(world.root, allow_delete=True, **options)


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
def test_openai_schemas_keep_to_the_strict_mode(tools, dialect):
    for one in tools(dialect=dialect).openai():
        function = one["function"]
        schema = function["parameters"]
        assert function["strict"] is True
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
        for value in schema["properties"].values():
            assert set(value) <= STRICT
        jsonschema.Draft202012Validator.check_schema(schema)


def test_openai_schemas_take_null_for_a_default_and_so_does_the_call(tools):
    [search, *_] = tools(dialect="lines").openai()
    given = {"keywords": "花生", "max_results": None, "match_mode": None}
    jsonschema.validate(given, search["function"]["parameters"])
    assert not tools(dialect="lines").call("memory_search", given).is_error


@pytest.mark.parametrize("language", ["zh", "en"])
def test_definitions_describe_each_tool_and_parameter_in_the_language(tools, language):
    for one in tools(language=language).anthropic():
        said = [one["description"], *(value["description"] for value in one["input_schema"]["properties"].values())]
        assert all(bool(re.search("[\u4e00-\u9fff]", text)) == (language == "zh") for text in said), one["name"]


def test_definitions_say_which_argument_the_dialect_needs():
    search = DEFINITIONS["memory_search"]
    for dialect, name in (("recall", "query"), ("lines", "keywords")):
        with pytest.raises(BadRequest, match=f"^{name}: memory_search needs it"):
            search.arguments({}, dialect)
    for given in ({"query": "花生"}, {"keywords": "花生"}):
        assert search.arguments(given, "recall") == search.arguments(given, "lines") == given


def test_output_schemas_are_valid_and_name_what_is_always_there():
    for answer in ANSWERS.values():
        jsonschema.Draft202012Validator.check_schema(output_schema(answer))
    assert {name: output_schema(answer)["required"] for name, answer in ANSWERS.items()} == {
        "memory_search": ["results"],
        "memory_get": ["path", "text", "total"],
        "memory_read": ["path", "lines", "total"],
        "memory_write": ["path", "total", "new"],
        "memory_delete": ["path", "deleted", "total"],
        "memory_forget": ["messages", "lines", "done"],
    }


@pytest.mark.parametrize("arguments", ["{", "[]", "7", '"花生"', "null", "[" * 100_000])
def test_call_says_that_arguments_are_no_object(tools, arguments):
    answer = tools().call("memory_search", arguments)
    assert answer.is_error
    assert answer.text in {"arguments: they are no JSON object.", "query: memory_search needs it."}


def test_functions_are_plain_python_with_a_docstring(tools):
    functions = tools().functions()
    assert list(functions) == list(DEFINITIONS)
    assert all(function.__doc__ and function.__name__ == name for name, function in functions.items())


def test_tools_have_the_members_that_countbot_knows(tools):
    import asyncio

    registry = tools()
    for tool in registry:
        assert (tool.name, tool.parameters["type"]) == (tool.name, "object")
        assert tool.description
    [write] = [tool for tool in registry if tool.name == "memory_write"]
    write.set_channel("qq")
    assert asyncio.run(write.execute(content="用户喜欢茶")).startswith("written to memory, line 1 (1 in all)")
