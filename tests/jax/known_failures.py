"""A plugin of pytest: the tests that known_failures.txt names must fail, and every entry must name a test.

An entry is FILE::CLASS::NAME, where * stands for any text, and a reason. With known failures the expectation is strict: a test that
passes is reported as a failure (XPASS(strict)), so the list cannot keep what has been fixed."""
import fnmatch
import pathlib

import pytest

_list = pathlib.Path(__file__).with_name("known_failures.txt")
_known = [line.split(None, 1) for line in _list.read_text().splitlines() if line.strip() and not line.startswith("#")]


def pytest_collection_modifyitems(session, config, items):
    for line in _known:
        if len(line) < 2:
            raise pytest.UsageError(f"known_failures.txt: {line[0]} has no reason")
    used = set()
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        for pattern, reason in _known:
            if fnmatch.fnmatch(name, pattern):
                used.add(pattern)
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    files = {item.nodeid.removeprefix("tests/").split("::")[0] for item in items}
    whole = not config.option.keyword and not any("::" in arg for arg in config.args)
    stale = [pattern for pattern, _ in _known if whole and pattern.split("::")[0] in files and pattern not in used]
    if stale:
        raise pytest.UsageError(f"known_failures.txt: no test is named {', '.join(stale)}")
