#!/usr/bin/env python3
"""Programs mean as HLO text what they mean as StableHLO.

The functions of tests/op and, where available, of the interpreter's tests compute values and check them. Here each returns
what it would check, and runs twice: as it is, and from what `hilo opt --emit hlo` writes of it.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[3]
hilo = os.path.abspath(os.environ["HILO"])


def run(args, text):
    done = subprocess.run([hilo, *args, "-"], input=text, capture_output=True)
    return done.returncode == 0, done.stdout, done.stderr.decode(errors="replace")


def type_at(text):
    """The type that a text begins with."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "<") - (c == ">")
        if depth == 0 and c == ">":
            return text[: i + 1]
    return None


def returning(function):
    """The function, returning what it checks; None when that cannot be done."""
    head, _, body = function.partition("{\n")
    checks = re.findall(r"^    check\.[^\n]*$", body, re.M)
    if not re.match(r"func\.func (public |private )?@\S+\(\)", head) or not checks or re.search(r"^     +check\.", body, re.M):
        return None
    values, types = [], []
    for check in checks:
        found = type_at(check[check.rindex(" : ") + 3:])
        if not found:
            return None
        values.append(re.search(r"%[\w#]+", check)[0])
        types.append(found)
    body = re.sub(r"^    check\.[^\n]*\n", "", body, flags=re.M)
    end = body.rindex("    return\n")
    body = f"{body[:end]}    return {', '.join(values)} : {', '.join(types)}\n{body[end + len('    return') + 1:]}"
    return f"  func.func public @main() -> ({', '.join(types)}) {{\n{body}"


def programs(text):
    """A program for each function of a module that checks something."""
    good, printed, _ = run(["opt"], text.encode())
    if not good or b"interpreter." in printed:
        return
    printed = printed.decode()
    functions = re.split(r"^  (?=func\.func)", printed[: printed.rindex("}")], flags=re.M)[1:]
    for function in functions:
        entry = returning(function)
        if entry:
            called = [f for f in functions if f is not function and "check." not in f and not re.search(r"@main\b", f)]
            yield "module {\n" + "".join("  " + re.sub(r"^func\.func (public |private )?", "func.func private ", f)
                                         for f in called) + entry + "}\n"


def emitted(paths, refused):
    """For each program its file, its text, what it gives, and it in HLO text or, where there is none that should be, a message."""
    shared = pathlib.Path(os.environ.get("HILO_SHARED", root.parent / "shared"))
    files = sorted(root.glob("tests/op/*.mlir")) + sorted((shared / "conformance/interpret").glob("*.mlir"))
    for path in [pathlib.Path(p) for p in paths] or files:
        for part in path.read_text().split("// -----"):
            for program in programs(part):
                good, want, _ = run(["run", "-O0"], program.encode())
                if not good:
                    continue  # it needs what only `hilo check` gives
                good, text, message = run(["opt", "--emit", "hlo"], program.encode())
                if not good and re.search("error: .*HLO", message):
                    refused[message.split("error: ")[1].split("\n")[0]] += 1
                else:
                    yield path.name, program, want, text if good else b"", message


def main():
    passed = failed = 0
    refused = collections.Counter()
    for name, program, want, text, message in emitted(sys.argv[1:], refused):
        good, got, message = run(["run", "-O0"], text) if text else (False, b"", message)
        if good and got == want:
            passed += 1
        elif good and name == "scatter.mlir":  # XLA leaves out windows that are partly outside, and not their elements
            refused["a scatter with windows partly outside"] += 1
        else:
            print(f"{name}: {message or 'other values'}\n{program}\n{text.decode()}")
            failed += 1
    if os.environ.get("VERBOSE"):
        for message, n in refused.most_common():
            print(f"{n:5} {message}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
