#!/usr/bin/env python3
"""Renders chat templates by `hilo template` and by Jinja2 with transformers' settings, and compares the texts.

    check_templates.py HILO PATH...

Each PATH is a .jinja file, a JSON file with a `chat_template` (tokenizer_config.json), or a directory that is searched for
both.
Each template gets three conversations, one of them with calls of tools and their results, each with and without tools, and with
and without the generation prompt. Where Jinja2 refuses, hilo must refuse, too. Templates that Jinja2 cannot parse are counted
apart. Needs Jinja2 (PyPI)."""
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from gen_jinja_cases import ENV  # noqa: E402

TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "The weather \u2013 \"now\" & here.", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "description": "A <city>"}, "days": {
            "type": "integer", "enum": [1, 2, 3]}, "where": {"type": "array", "items": {"type": "number"}}},
        "required": ["city"]}, "return": {"type": "object", "description": "d"}}},
    {"type": "function", "function": {"name": "stop", "description": "", "parameters": {"type": "object", "properties": {}}}}]
CALL = [{"id": "call12345", "type": "function", "function": {
    "name": "get_weather", "arguments": {"city": "Z\u00fcrich", "days": 2}}}]
CONVERSATIONS = [
    [{"role": "user", "content": " What is a compiler?\n"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Gr\u00fc\u00dfe, \u4e16\u754c <|im_end|> {{ x }}"},
     {"role": "assistant", "content": "<think>\nwhy\n</think>\n\nSo."}, {"role": "user", "content": "And?"}],
    [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "", "tool_calls": CALL},
     {"role": "tool", "name": "get_weather", "tool_call_id": "call12345", "content": "{\"sun\": true}"},
     {"role": "assistant", "content": "Sunny.", "reasoning_content": "It shines."}, {"role": "user", "content": "Thanks"}],
]
OTHERS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def templates(path):
    """[(name, text)]"""
    if path.is_dir():
        return [t for p in sorted(path.rglob("*")) if p.suffix in (".jinja", ".jinja2", ".json") for t in templates(p)]
    if path.suffix != ".json":
        return [(str(path), path.read_text())]
    try:
        found = json.loads(path.read_text())["chat_template"]
    except (ValueError, KeyError, TypeError):
        return []
    if isinstance(found, list):
        return [(f"{path}:{x['name']}", x["template"]) for x in found]
    return [(str(path), found)] if isinstance(found, str) else []


def main():
    ENV.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    hilo, failed, refused, unparsed, seen, lazy = sys.argv[1], [], 0, [], set(), set()
    with tempfile.TemporaryDirectory() as d:
        d = pathlib.Path(d)
        (d / "tools.json").write_text(json.dumps(TOOLS))
        for name, text in (t for path in sys.argv[2:] for t in templates(pathlib.Path(path))):
            if text in seen:
                continue
            seen.add(text)
            (d / "t.jinja").write_text(text, newline="")
            try:
                template = ENV.from_string(text)
            except Exception as e:
                unparsed.append(f"{name}: {e}")
                continue
            for i, messages in enumerate(CONVERSATIONS):
                (d / "messages.json").write_text(json.dumps({"messages": messages, **OTHERS}))
                for tools in (None, TOOLS):
                    for prompt in (False, True):
                        try:
                            expected = template.render(messages=messages, add_generation_prompt=prompt, tools=tools, documents=None,
                                                       **OTHERS)
                        except Exception as e:
                            expected, refused, why = None, refused + 1, e
                            if "generator" in str(e):  # of a template that was written for another renderer
                                lazy.add(name)
                                continue
                        p = subprocess.run([hilo, "template", "-m", d / "t.jinja", "--messages", d / "messages.json",
                                            *(["--tools", d / "tools.json"] if tools else []),
                                            *([] if prompt else ["--no-generation-prompt"])], capture_output=True)
                        got = p.stdout.decode() if p.returncode == 0 else None
                        if got is not None and expected is not None and got != expected and got == expected + "\n":
                            got = expected  # the command ends its line
                        if got != expected:
                            failed.append(name)
                            print(f"{name}: conversation {i}, tools {tools is not None}, prompt {prompt}:\n"
                                  f"  expected {expected!r:.2000}" + (f" ({why})" if expected is None else "") +
                                  f"\n  got      {got!r:.2000} {p.stderr.decode():.300}")
    for name in unparsed:
        print("not parsed by Jinja2:", name)
    for name in sorted(lazy):
        print("filters give generators, which Jinja2 does not print as JSON:", name)
    print(f"{len(seen) - len(unparsed)} templates, {12 * (len(seen) - len(unparsed))} texts, of which Jinja2 refuses {refused}; "
          f"{len(failed)} texts of {len(set(failed))} templates differ")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
