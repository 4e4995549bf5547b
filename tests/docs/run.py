#!/usr/bin/env python3
"""Runs what a page of the documentation tells its readers to type.

usage: run.py PAGE

A page is Markdown (blocks between ``` lines, or indented by four spaces) or the manual page (its examples). By language:

    sh, indented    commands, run one by one as a user would; each must end with 0
    console         lines that begin with `$ ` are commands, the others what they print; `…` stands for anything
    python          a script; it must end without an exception
    c               must compile against include/hilo.h, and run if it has a main()
    anything else   is not run

A block after the words "as `FILE`" is saved in that file. A comment <!-- run: WORDS --> before a block changes this:

    skip REASON     is not run; the reason is printed
    fails N         the last command ends with N
    needs MODULE    is run where Python has the module
    file NAME       the block is saved in that file, too

All blocks of a page run in one directory with copies of the repository's examples/, tests/, bench/, scripts/ …, so nothing is
written into the checkout.
A command `hilo serve` goes on while the commands after it run, and must end with 0 when it gets SIGTERM. 8080 stands for a free
port. Commands that install or build the project are left out: tests/package runs them. hilo is the one of $HILO, whose directory has
the libraries; Python is $HILO_PYTHON, that of .venv, or this one. Models of the Hugging Face hub are represented by tests/llm/tiny-llama, GGUF
files by what hilo makes of it.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv/bin/python"
PYTHON = os.environ.get("HILO_PYTHON") or (str(VENV) if VENV.exists() else sys.executable)
# What installs or builds the project is not run: tests/package does that. Builds of other presets take too long.
INSTALLS = re.compile(r"(sudo|make|pip|cmake|apt|apt-get|hf|scripts/build\.sh)\b")
MODELS = ["Llama-3.2-1B", "Llama-3.2-1B-Instruct", "all-MiniLM-L6-v2", "Qwen3-Embedding-0.6B"]
GGUF_MODEL = "Llama-3.2-1B-Q4_K_M.gguf"


class Block:
    def __init__(self, line, language, text, orders, before):
        self.line, self.language, self.text, self.orders = line, language, text, orders
        saved = re.search(r"\bas `([^`/]+\.\w+)`[^`]*\Z", before.strip().rsplit("\n\n", 1)[-1])
        self.file = orders.get("file") or (saved.group(1) if saved else None)


def orders_of(text):
    """The words of the comments just before a block."""
    found = {}
    for words in re.findall(r"<!-- run: (.*?) -->\s*(?=(?:<!--.*?-->\s*)*\Z)", text, re.S):
        key, _, value = words.partition(" ")
        found[key] = value
    return found


def markdown_blocks(text):
    lines, at, before = text.split("\n"), 0, []
    while at < len(lines):
        fence = re.match(r"( *)```(\w*)\s*$", lines[at])
        start, body = at, []
        if fence:
            at += 1
            while not re.match(r" *```\s*$", lines[at]):
                body.append(lines[at][len(fence.group(1)):])
                at += 1
            language = fence.group(2)
        elif lines[at].startswith("    ") and at and not lines[at - 1].strip() and not in_list(before):
            while at < len(lines) and (lines[at].startswith("    ") or (not lines[at] and lines[at + 1 : at + 2] and
                                                                        lines[at + 1].startswith("    "))):
                body.append(lines[at][4:])
                at += 1
            at -= 1
            language = "python" if body[0].startswith("import ") else "sh"
        else:
            before.append(lines[at])
            at += 1
            continue
        text_before = "\n".join(before)
        yield Block(start + 1, language, "\n".join(body) + "\n", orders_of(text_before), re.sub(r"<!--.*?-->", "", text_before))
        before = []
        at += 1


def in_list(before):
    """Whether an indented line continues an item of a list."""
    for line in reversed(before):
        if re.match(r"\s*([-*]|\d+\.) ", line):
            return True
        if line and not line.startswith(" "):
            return False
    return False


def man_blocks(text):
    for match in re.finditer(r"^Examples:\n\.PP\n\.nf\n(.*?)^\.fi$", text, re.M | re.S):
        line = text.count("\n", 0, match.start(1)) + 1
        body = match.group(1).replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")
        yield Block(line, "sh", "\n".join(x.strip() for x in body.split("\n")) + "\n", {}, "")


class Page:
    def __init__(self, path, work):
        self.path, self.work = path, work
        self.passed = self.failed = self.skipped = 0
        self.server = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        hilo = pathlib.Path(os.environ["HILO"]).resolve()
        tools = work / ".tools"
        tools.mkdir()
        for name, target in (("hilo", hilo), ("python", PYTHON), ("python3", PYTHON)):
            script = tools / name
            script.write_text(f'#!/bin/sh\nexec "{target}" "$@"\n')
            script.chmod(0o755)
        for entry in ROOT.iterdir():
            if entry.is_symlink() or entry.name == "build" or entry.name.startswith("."):
                continue
            if entry.is_dir():
                shutil.copytree(entry, work / entry.name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(entry, work)
        (work / "build").symlink_to(hilo.parent)
        for model in MODELS:
            (work / model).symlink_to("tests/llm/tiny-llama")
        subprocess.run([hilo, "convert", MODELS[0], "-o", GGUF_MODEL], cwd=work, check=True)
        (work / "queries.txt").write_text("which licence\n")
        plugins = tools / "jax_plugins"  # what `pip install` does: an entry point of JAX
        plugins.mkdir()
        (plugins / "hilo.py").write_text("from jax_hilo import initialize  # noqa: F401\n")
        self.env = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", HILO=str(hilo), HILO_CACHE_DIR=str(work / ".cache"),
                        HILO_LIBRARY=str(hilo.parent / "libhilo.so"), HILO_PJRT_PLUGIN=str(hilo.parent / "pjrt_hilo.so"),
                        PYTHONPATH=f"{tools}:{ROOT / 'python'}", PYTHONDONTWRITEBYTECODE="1", HILO_PYTHON=PYTHON, COLUMNS="120")

    def report(self, block, what, fine, output=""):
        self.passed += fine
        self.failed += not fine
        if not fine:
            print(f"{self.path}:{block.line}: failed: {what}")
            print("".join(f"    {line}\n" for line in output.split("\n")[-30:]), end="")

    def skip(self, block, why):
        self.skipped += 1
        print(f"skipped: {self.path}:{block.line}: {why}")

    def serve(self, command):
        """Starts a server in place of the last one; (status, output) as shell()."""
        status, output = self.stop_server()
        if status:
            return status, output
        log = self.work / ".server.log"
        if "--port" not in command:
            command += " --port 8080"
        command = command.replace("8080", self.port)
        self.server = subprocess.Popen(["bash", "-c", "exec " + command], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=log.open("w"))
        for _ in range(600):
            if "listening on" in log.read_text() or self.server.poll() is not None:
                break
            time.sleep(0.1)
        return (0 if self.server.poll() is None else 1), log.read_text()

    def stop_server(self):
        if not self.server:
            return 0, ""
        self.server.send_signal(signal.SIGTERM)
        status, self.server = self.server.wait(60), None
        return status, f"the server ended with {status}"

    def shell(self, command):
        if command.startswith("hilo serve"):
            return self.serve(command)
        if self.server:
            command = command.replace("8080", self.port)
        done = subprocess.run(["bash", "-c", command], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        return done.returncode, done.stdout.decode(errors="replace")

    def run_command(self, block, command, expected=None, code=0):
        if INSTALLS.match(command):
            return self.skip(block, f"it installs or builds: {command}")
        status, output = self.shell(command)
        fine = status == code
        if fine and expected is not None:
            pattern = re.escape(expected.strip()).replace(re.escape("…"), ".*?").replace(r"\ ", r"\s+").replace("\\\n", r"\s+")
            fine = re.fullmatch(pattern, output.strip(), re.S) is not None
            output = f"expected:\n{expected}\nprinted:\n{output}"
        self.report(block, command if fine or status == code else f"{command} (status {status})", fine, output)

    def run_sh(self, block):
        commands = commands_of(block.text)
        for i, command in enumerate(commands):
            self.run_command(block, command, code=int(block.orders.get("fails", 0)) if i == len(commands) - 1 else 0)

    def run_console(self, block):
        for piece in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
            command, _, output = re.match(r"((?:[^\n]*\\\n)*[^\n]*)(\n?)(.*)", piece, re.S).groups()
            last = block.text.rstrip().endswith(piece.rstrip())
            self.run_command(block, command, output if output.strip() else None, int(block.orders.get("fails", 0)) if last else 0)

    def run_python(self, block):
        script = self.work / ".block.py"
        script.write_text(block.text)
        self.run_command(block, f"{PYTHON} {script}")

    def run_c(self, block):
        source = self.work / ".block.c"
        source.write_text(block.text)
        library = pathlib.Path(self.env["HILO"]).parent
        flags = f"-std=c11 -Wall -Wextra -Werror -I{ROOT}/include"
        if "main(" in block.text:
            self.run_command(block, f"cc {flags} {source} -o block -L{library} -lhilo -Wl,-rpath,{library} && ./block")
        else:
            self.run_command(block, f"cc {flags} -fsyntax-only {source}")

    def run_block(self, block):
        if block.file:
            (self.work / block.file).write_text(block.text)
        if "skip" in block.orders:
            return self.skip(block, block.orders["skip"])
        needs = block.orders.get("needs")
        if needs and subprocess.run([PYTHON, "-c", f"import {needs}"], capture_output=True).returncode:
            return self.skip(block, f"Python has no {needs}")
        runner = {"sh": self.run_sh, "console": self.run_console, "python": self.run_python, "c": self.run_c}.get(block.language)
        if runner:
            runner(block)


def commands_of(text):
    """Commands, one a line; a line that ends with a backslash continues, and so does a line that is indented further."""
    joined = re.sub(r"\\\n\s*", "", text)
    return [line for line in (re.sub(r"\s+# .*", "", x).strip() for x in joined.split("\n")) if line and not line.startswith("#")]


def main():
    path = pathlib.Path(sys.argv[1])
    text = (ROOT / path).read_text()
    blocks = list((man_blocks if path.suffix == ".1" else markdown_blocks)(text))
    with tempfile.TemporaryDirectory() as work:
        page = Page(path, pathlib.Path(work))
        for block in blocks:
            page.run_block(block)
        status, output = page.stop_server()
        if status:
            page.report(blocks[-1], "hilo serve", False, output)
    if not blocks:
        print(f"{path}: no blocks were found")
        page.failed += 1
    print(f"{page.passed} passed, {page.failed} failed, {page.skipped} skipped")
    return 1 if page.failed else 0


sys.exit(main())
