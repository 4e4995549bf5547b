#!/usr/bin/env python3
"""Tests of `hilo serve` by OpenAI's own Python client, in the environment that the tests against JAX run in; skipped where the package
openai is missing."""
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "jax")]
import common  # noqa: E402

common.need("openai", "pydantic")
import json  # noqa: E402
import time  # noqa: E402

import openai  # noqa: E402
import pydantic  # noqa: E402
from run import Server, user  # noqa: E402

PARAMETERS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = [{"type": "function", "function": {"name": "count", "description": "counts", "parameters": PARAMETERS}}]


class Answer(pydantic.BaseModel):
    good: bool
    n: int


def test_chat(c, m):
    r = c.chat.completions.create(model=m, messages=user("hi"), max_tokens=5)
    assert r.choices[0].message.content is not None and r.usage.total_tokens == r.usage.prompt_tokens + r.usage.completion_tokens
    r = c.chat.completions.create(model=m, messages=user("hi"), max_tokens=3, logprobs=True, top_logprobs=3)
    assert len(r.choices[0].logprobs.content[0].top_logprobs) == 3
    r = c.completions.create(model=m, prompt="Licensed under", max_tokens=4, n=2, stop=["@"])
    assert len(r.choices) == 2
    r = c.responses.create(model=m, input="hi", max_output_tokens=5, instructions="be brief")
    assert isinstance(r.output_text, str)


def test_stream(c, m):
    same = dict(model=m, messages=user("hi"), max_tokens=8, seed=1)
    chunks = list(c.chat.completions.create(**same, stream=True, stream_options={"include_usage": True}))
    text = "".join(x.choices[0].delta.content or "" for x in chunks if x.choices)
    assert chunks[-1].usage and text == c.chat.completions.create(**same).choices[0].message.content
    same = dict(model=m, prompt="Licensed under", max_tokens=8, temperature=0)
    chunks = list(c.completions.create(**same, stream=True))
    assert "".join(x.choices[0].text for x in chunks) == c.completions.create(**same).choices[0].text
    events = list(c.responses.create(model=m, input="hi", max_output_tokens=12, stream=True))
    text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    assert events[-1].type in ("response.completed", "response.incomplete") and events[-1].response.output_text == text


def test_tools(c, m):
    ask = dict(model=m, messages=user("hi"), tools=TOOLS, tool_choice="required", max_tokens=100)
    first = c.chat.completions.create(**ask).choices[0]
    call = first.message.tool_calls[0]
    assert first.finish_reason == "tool_calls" and isinstance(json.loads(call.function.arguments)["n"], int)
    with c.chat.completions.stream(**ask) as stream:
        stream.until_done()
        assert stream.get_final_completion().choices[0].message.tool_calls[0].function.name == "count"
    answered = user("hi") + [first.message, {"role": "tool", "tool_call_id": call.id, "content": "3"}]
    c.chat.completions.create(model=m, messages=answered, tools=TOOLS, max_tokens=3)
    tool = {"type": "function", "name": "count", "parameters": PARAMETERS}
    r = c.responses.create(model=m, input="hi", tools=[tool], tool_choice="required", max_output_tokens=100)
    assert r.output[0].type == "function_call"


def test_schema(c, m):
    for seed in range(5):
        r = c.chat.completions.parse(model=m, messages=user("hi"), response_format=Answer, max_tokens=200, seed=seed)
        assert isinstance(r.choices[0].message.parsed, Answer)
    r = c.responses.parse(model=m, input="hi", text_format=Answer, max_output_tokens=200)
    assert isinstance(r.output_parsed, Answer)


def test_embeddings(c, m):
    several = c.embeddings.create(model=m, input=["a", "b"]).data  # the client asks for base64
    one = c.embeddings.create(model=m, input="a", encoding_format="float").data[0].embedding
    assert len(several) == 2 and max(abs(x - y) for x, y in zip(one, several[0].embedding)) < 1e-6


def test_errors(c, m):
    for error, body in ((openai.NotFoundError, {"model": "none", "messages": user("x")}),
                        (openai.BadRequestError, {"model": m, "messages": []}),
                        (openai.BadRequestError, {"model": m, "messages": user("x"), "temperature": -3})):
        try:
            c.chat.completions.create(**body)
            raise AssertionError(f"{body} was answered")
        except error as e:
            assert e.body["message"]
    try:
        c.with_options(api_key="wrong").models.list()
        raise AssertionError("a wrong key was accepted")
    except openai.AuthenticationError as e:
        assert "key" in e.body["message"]


def main():
    with Server("--no-warmup", "--api-key", "secret") as s:
        c = openai.OpenAI(base_url=f"http://127.0.0.1:{s.port}/v1", api_key="secret", max_retries=0, timeout=300)
        model = c.models.list().data[0].id
        tests = [test_chat, test_stream, test_tools, test_schema, test_embeddings, test_errors]
        for test in tests:
            begin = time.time()
            test(c, model)
            print(f"passed: {test.__name__}, {time.time() - begin:.1f} s", flush=True)
    print(f"{len(tests)} passed, 0 failed")


if __name__ == "__main__":
    main()
