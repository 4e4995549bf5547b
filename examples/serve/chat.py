#!/usr/bin/env python3
"""A conversation with `hilo serve` by the openai package: a streamed answer, an object by a schema, a call of a tool.

    hilo serve -m MODEL &
    pip install openai pydantic
    examples/serve/chat.py [http://127.0.0.1:8080/v1]
"""
import json
import sys

from openai import OpenAI
from pydantic import BaseModel

client = OpenAI(base_url=sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080/v1", api_key="none")
model = client.models.list().data[0].id


def user(text):
    return [{"role": "user", "content": text}]


for chunk in client.chat.completions.create(model=model, messages=user("What is a compiler?"), max_tokens=60, stream=True):
    print(chunk.choices[0].delta.content or "", end="", flush=True)
print()


class City(BaseModel):
    large: bool
    inhabitants: int


answer = client.chat.completions.parse(model=model, messages=user("Describe Paris."), response_format=City, max_tokens=200)
print(answer.choices[0].message.parsed)

tools = [{"type": "function", "function": {"name": "weather", "description": "the weather of a day", "parameters": {
    "type": "object", "properties": {"day": {"enum": ["today", "tomorrow"]}}, "required": ["day"]}}}]
answer = client.chat.completions.create(model=model, messages=user("Shall I take an umbrella?"), tools=tools,
                                        tool_choice="required", max_tokens=200)
for call in answer.choices[0].message.tool_calls:
    print(call.function.name, json.loads(call.function.arguments))
