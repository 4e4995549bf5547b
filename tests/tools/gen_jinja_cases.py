#!/usr/bin/env python3
"""Writes tests/llm/jinja_cases.json: templates, their variables, and what Jinja2 with transformers' settings renders.

Needs Jinja2 3.1, which nothing else does:

    env/bin/python tests/tools/gen_jinja_cases.py > tests/llm/jinja_cases.json
"""
import datetime
import json

from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = 1721952000  # 26 Jul 2024, UTC


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(["name:endgeneration"], drop_needle=True), lineno=line)


class Refused(Exception):
    pass


def refuse(message):
    raise Refused(message)


def to_json(x, indent=None, separators=None, ensure_ascii=False, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


ENV = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
ENV.filters["tojson"] = to_json
ENV.filters["from_json"] = json.loads
ENV.globals["raise_exception"] = refuse
ENV.globals["strftime_now"] = lambda form: datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(form)

DATA = {
    "messages": [
        {"role": "system", "content": " Be  brief.\n"},
        {"role": "user", "content": "Grüße, 世界 \U0001f642 <b>&'\"\\ \t"},
        {"role": "assistant", "content": "<think>\nwhy\n</think>\n\nSo.", "tool_calls": [
            {"type": "function", "function": {"name": "f", "arguments": {"x": 1, "y": [1.5, None, True, "é"], "z": {}}}}]},
        {"role": "user", "content": ""},
    ],
    "tools": [{"type": "function", "function": {"name": "g", "parameters": {"b": 1, "a": [], "c": {"k": -0.0}}}}],
    "numbers": [3, 1, 2.5, 1e16, 1e-7, -4, 123456789012, 0.1, 1e22],
    "words": ["b", "A", "c", "B", "a"],
    "text": "one two  three\nfour",
    "empty": [],
    "nothing": None,
    "yes": True,
    "nested": {"items": 1, "list": [[1, 2], [3, [4]]], "k'": "v\n"},
}

TEMPLATES = [
    # whitespace
    "a\n{% if yes %}\nb\n{% endif %}\nc\n",
    "  {% if yes %}  \n  x\n  {% endif %}  y\n\n",
    "a  {%- if yes -%}  b  {%- endif %}\nc {{- ' d ' -}} \n e",
    "  {%+ if yes %}x{% endif +%}\n  {# note #}\n{#- note -#} z {# a\nb #}\n.",
    "{% raw %}{{ x }}\n{% endraw %}\n|{%- raw -%} {% if %} {%- endraw -%} |",
    "line\r\nline\rline\n{% if yes %}\r\nx{% endif %}\r\n",
    "{{ '}}' }}{{ {'a': {'b': 1}}['a']['b'] }}{{ \"%}\" }}",
    # expressions
    "{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7.5 // 2 }}",
    "{{ 1 ~ 'a' ~ none ~ 2.0 ~ true }} {{ 'a' * 3 }} {{ 'x' + 'y' 'z' }} {{ [1] + [2, 3] }} {{ (1, 2) + (3,) }}",
    "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 'a' < 'b' }} {{ 1 == 1.0 }} {{ 1 == '1' }} {{ true == 1 }} {{ [1, 2] == [1, 2] }}",
    "{{ 'a' in 'cat' }} {{ 3 in numbers }} {{ 'items' in nested }} {{ 'x' not in nested }} {{ not 'x' in words }}",
    "{{ 'a' if yes else 'b' }}{{ 'c' if not yes }}{{ missing }}{{ nothing }}{{ 'x' if yes and not nothing or missing }}",
    "{{ words[0] }}{{ words[-1] }}{{ words[1:3] }}{{ words[::-1] }}{{ words[-2:] }}{{ words[:100] }}{{ words[5:2:-2] }}",
    "{{ text[0] }}{{ text[-4:] }}{{ text[::-1] }}{{ messages[1].content[6:9] }}{{ messages[1]['content'][::-1] }}",
    "{{ nested.items() | list }} {{ nested['items'] }} {{ nested.list[1][1][0] }} {{ nested.missing }} {{ words.5 }}",
    "{{ words | length - 1 }} {{ -1 | abs }} {{ (-1) | abs }} {{ 'a' ~ 'b' | upper }} {{ not words }}",
    "{{ {'a': 1, 'b': [1, 'x', none], 3: 1.5} }} {{ (1,) }} {{ () }} {{ [] }} {{ {} }} {{ ['it\\'s', \"a\\\"b\", '\\n\\\\'] }}",
    "{{ numbers }} {% for n in numbers %}{{ n }} {% endfor %}{{ 1e3 }} {{ 1_000 }} {{ 1.5e-5 }}",
    "{{ '\\x41\\u00e9\\U0001F642\\101\\q\\t|' }}",
    "{{ 'abc' is string }}{{ 1 is number }}{{ yes is boolean }}{{ nothing is none }}{{ nested is mapping }}{{ words is iterable }}"
    "{{ words is sequence }}{{ missing is defined }}{{ missing is undefined }}{{ 4 is even }}{{ 4 is divisibleby 2 }}"
    "{{ yes is true }}{{ 1 is true }}{{ 3 is odd }}{{ 'A' is upper }}{{ 1 is in [1] }}{{ 1 is not in [1] }}{{ 2 is eq 2 }}"
    "{{ 1.5 is float }}{{ 1 is integer }}{{ 3 is gt(2) }}{{ words is not string }}",
    # statements
    "{% for m in messages %}{{ loop.index }}/{{ loop.length }}{{ loop.first }}{{ loop.last }}{{ loop.revindex0 }}"
    "{{ loop.previtem.role if loop.previtem }}>{{ loop.nextitem.role if loop.nextitem }}\n{% endfor %}",
    "{% for k, v in nested.items() %}{{ k }}={{ v }};{% endfor %}{% for (a, b) in [[1, 2]] %}{{ a + b }}{% endfor %}",
    "{% for n in numbers if n > 2 %}{{ loop.index0 }}:{{ n }} {% else %}none{% endfor %}{% for x in empty %}{% else %}E{% endfor %}",
    "{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i > 4 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in range(3) %}{% for j in range(i) %}{{ i }}{{ j }}{{ loop.cycle('a', 'b') }} {% endfor %}{{ loop.changed(i // 2) }}"
    "{% endfor %}{{ range(5, 0, -2) | list }}",
    "{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}"
    "{% set ns = namespace(n=0, found=false) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}{{ ns.found }}",
    "{% set a, b = 1, 'x' %}{{ a }}{{ b }}{% set block %}\n  in {{ a }}\n{% endset %}[{{ block }}]"
    "{% set up | upper | trim %} loud {% endset %}{{ up }}",
    "{% macro greet(name, greeting='Hi', n=2) %}{{ greeting }} {{ name }}{{ '!' * n }}{% endmacro %}{{ greet('A') }} "
    "{{ greet('B', n=1) }} {{ greet(name='C', greeting='Yo') }} {{ greet() }} {{ greet.name }}",
    "{% macro walk(v, d) %}{% for x in v %}{% if x is sequence %}[{{ walk(x, d + 1) }}]{% else %}{{ d }}:{{ x }}{% endif %}{% endfor %}"
    "{% endmacro %}{{ walk(nested.list, 0) }}",
    "{% macro box() %}<{{ caller('in') }}>{% endmacro %}{% call(x) box() %}{{ x }} {{ yes }}{% endcall %}",
    "{% macro all() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ all(1, 2, k=3) }}",
    "{% filter upper | replace('A', 'o') %}banana {{ text }}{% endfilter %}{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}",
    "{% generation %}answer{% endgeneration %}|{% if missing %}{% elif nothing %}{% elif words %}W{% else %}N{% endif %}",
    # filters
    "{{ tools | tojson }}\n{{ tools | tojson(indent=2) }}\n{{ nested | tojson(separators=(',', ':'), sort_keys=true) }}\n"
    "{{ messages[1].content | tojson }}{{ messages[1].content | tojson(ensure_ascii=true) }}{{ numbers | tojson }}{{ empty | tojson(indent=4) }}",
    "{{ words | join(', ') }}|{{ messages | map(attribute='role') | join('-') }}|{{ words | map('upper') | list }}|"
    "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}|{{ messages | rejectattr('tool_calls') | list | length }}|"
    "{{ messages | selectattr('tool_calls', 'defined') | map(attribute='content') | first }}|{{ numbers | select('gt', 2) | list }}",
    "{{ words | sort }}{{ words | sort(reverse=true) }}{{ words | sort(case_sensitive=true) }}{{ words | unique | list }}"
    "{{ nested | dictsort }}{{ {'b': 1, 'A': 2} | dictsort(by='value', reverse=true) }}{{ messages | sort(attribute='role') | map(attribute='role') | list }}",
    "{{ numbers | min }}{{ numbers | max }}{{ [1, 2, 3] | sum }}{{ words | first }}{{ words | last }}{{ words | reverse | list }}{{ 'abc' | reverse }}",
    "[{{ text | trim }}][{{ '  x ' | trim }}][{{ 'xxaxx' | trim('x') }}][{{ text | title }}][{{ 'hELLO wORLD' | capitalize }}]"
    "[{{ 'señor ÉA' | upper }}][{{ 'ÀB' | lower }}][{{ text | replace('o', '0', 1) }}][{{ 'ab' | replace('', '-') }}]",
    "{{ missing | default('d') }}{{ '' | default('d') }}{{ '' | default('d', true) }}{{ nothing | default('d') }}{{ missing | d }}",
    "{{ 'a\nb\n\nc' | indent }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n\nb' | indent(1, blank=true) }}|{{ 'a\nb' | indent('> ') }}",
    "{{ '12' | int + 1 }}{{ 'x' | int }}{{ 'x' | int(7) }}{{ 3.9 | int }}{{ '1.5' | float }}{{ 2.5 | round }}{{ 2.567 | round(2) }}"
    "{{ 2.1 | round(0, 'ceil') }}{{ 5 | string | length }}{{ words | count }}{{ text | length }}{{ messages[1].content | length }}",
    "{{ 'a<b>&\"' | e }}{{ '<i>' | safe + '<b>' }}{{ '%s-%s' | format(1, 'x') }}{{ '%s %d%%' % ('a', 3) }}",
    "{{ '{\"a\": [1, 2.5, null, \"é\"]}' | from_json }}",
    # methods
    "{{ text.split() }}{{ text.split(' ') }}{{ 'a,b,c'.split(',', 1) }}{{ 'a,b,c'.rsplit(',', 1) }}{{ 'a\nb\r\nc'.splitlines() }}",
    "[{{ ' x '.strip() }}][{{ ' x '.lstrip() }}][{{ ' x '.rstrip() }}][{{ 'xxyxx'.strip('x') }}][{{ messages[2].content.split('</think>')[-1].lstrip('\n') }}]",
    "{{ text.startswith('one') }}{{ text.endswith(('x', 'four')) }}{{ text.replace('two', '2') }}{{ text.upper() }}{{ text.title() }}"
    "{{ text.find('two') }}{{ text.find('zz') }}{{ text.count('o') }}{{ '-'.join(words) }}{{ '12'.isdigit() }}{{ '{} {1} {x}'.format(1, 2, x=3) if false }}"
    "{{ '{} {}'.format(1, 'a') }}{{ '{0}{n}'.format('z', n=4) }}{{ 'prefix-x'.removeprefix('prefix-') }}",
    "{{ nested.keys() | list }}{{ nested.values() | list }}{{ nested.get('x') }}{{ nested.get('x', 'd') }}{{ words.index('c') }}{{ words.count('a') }}",
    "{{ strftime_now('%d %b %Y') }}{{ dict(a=1) }}",
    # what is refused
    "{{ raise_exception('no ' ~ messages[0].role) }}",
    "{{ missing.attribute }}",
    "{{ 1 + 'a' }}",
    "{{ words.append('x') }}",
    "{{ 1 / 0 }}",
    "{% for i in 5 %}{% endfor %}",
    "{{ missing() }}",
    "{% if yes %}",
    "{{ 1 + }}",
    "{% include 'x' %}",
    "{{ words | nofilter }}",
    "{{ 'abc }}",
    "{% endif %}",
]


def case(template):
    try:
        return {"template": template, "text": ENV.from_string(template).render(bos_token="<s>", **DATA)}
    except Exception as error:
        return {"template": template, "error": str(error) if isinstance(error, Refused) else ""}


if __name__ == "__main__":
    print(json.dumps({"now": NOW, "variables": DATA, "cases": [case(t) for t in TEMPLATES]}, ensure_ascii=False, indent=1))
