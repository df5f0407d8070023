"""
What clients ask with their own libraries: run with the Python of an environment that has them, beside the judge.

    python clients.py NAME BASE_URL KEY        prints the words of the answer as JSON; 69 where the library is not there

BASE_URL ends with /v1. It imports nothing of recalld.
"""

import json
import sys
from typing import Any

QUESTION = "我对什么过敏？"
SAID = [{"role": "user", "content": QUESTION}]
TOOL = {"name": "look", "description": "看", "parameters": {"type": "object", "properties": {}}}


def openai_of(url: str, key: str) -> Any:
    import openai

    return openai.OpenAI(base_url=url, api_key=key, max_retries=0)


def openai_chat(url: str, key: str) -> Any:
    return openai_of(url, key).chat.completions.create(model="m", messages=SAID).choices[0].message.content


def openai_chat_stream(url: str, key: str) -> Any:
    pieces = openai_of(url, key).chat.completions.create(model="m", messages=SAID, stream=True, extra_body={"未知": 1.50})
    return "".join(one.choices[0].delta.content or "" for one in pieces)


def openai_tools(url: str, key: str) -> Any:
    client, tools = openai_of(url, key), [{"type": "function", "function": TOOL}]
    first = client.chat.completions.create(model="m", messages=SAID, tools=tools).choices[0].message
    result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "花生"}
    said = [*SAID, first.model_dump(exclude_none=True), result]
    return client.chat.completions.create(model="m", messages=said, tools=tools).choices[0].message.content


def openai_responses_stream(url: str, key: str) -> Any:
    events = openai_of(url, key).responses.create(model="m", input=SAID, stream=True)
    return "".join(one.delta for one in events if one.type == "response.output_text.delta")


def anthropic_of(url: str, key: str) -> Any:
    import anthropic

    return anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key=key, max_retries=0)


def anthropic_stream(url: str, key: str) -> Any:
    with anthropic_of(url, key).messages.stream(model="m", max_tokens=99, messages=SAID) as stream:
        return "".join(stream.text_stream)


def anthropic_tools(url: str, key: str) -> Any:
    client = anthropic_of(url, key)
    tools = [{"name": "look", "description": "看", "input_schema": TOOL["parameters"]}]
    first = client.messages.create(model="m", max_tokens=99, messages=SAID, tools=tools)
    use = next(one for one in first.content if one.type == "tool_use")
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "花生"}]}
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": use.id, "name": "look", "input": {}}]}
    return client.messages.create(model="m", max_tokens=99, messages=[*SAID, asked, result], tools=tools).content[0].text


def llm_prompt(url: str, key: str) -> Any:
    from llm.default_plugins.openai_models import Chat

    model = Chat("m", key=key, model_name="m", api_base=url)
    return model.prompt(QUESTION, stream=False).text()


def litellm_completion(url: str, key: str) -> Any:
    import litellm

    litellm.telemetry = False
    answer = litellm.completion(model="openai/m", messages=SAID, api_base=url, api_key=key)
    return answer.choices[0].message.content


def llamaindex_chat(url: str, key: str) -> Any:
    from llama_index.core.llms import ChatMessage
    from llama_index.llms.openai_like import OpenAILike

    model = OpenAILike(model="m", api_base=url, api_key=key, is_chat_model=True)
    return model.chat([ChatMessage(role="user", content=QUESTION)]).message.content


CLIENTS = {
    one.__name__: one
    for one in (
        *(openai_chat, openai_chat_stream, openai_tools, openai_responses_stream),
        *(anthropic_stream, anthropic_tools, llm_prompt, litellm_completion, llamaindex_chat),
    )
}

if __name__ == "__main__":
    try:
        print(json.dumps(CLIENTS[sys.argv[1]](*sys.argv[2:])))
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(69)
