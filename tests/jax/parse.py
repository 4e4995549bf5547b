#!/usr/bin/env python3
"""What hilo prints and writes is accepted by jaxlib's StableHLO, and means the same there.

Each program of tests/op and, where it is available, of the interpreter's tests goes to jaxlib as text, in both forms, and as a
portable artifact; the text that jaxlib makes of the artifact is read by hilo and must be the program. Needs JAX.
"""
import os
import pathlib
import subprocess
import sys

import common
from common import check, root, skip

common.need("jax")
from jax.interpreters.mlir import ir, make_ir_context  # noqa: E402
from jaxlib.mlir.dialects import stablehlo  # noqa: E402

hilo = os.path.abspath(os.environ["HILO"])
newest = stablehlo.get_current_version()


def run(args, data):
    done = subprocess.run([hilo, *args], input=data, capture_output=True)
    return done.returncode == 0, done.stdout, done.stderr.decode()


def context(unregistered):
    ctx = make_ir_context()
    ctx.allow_unregistered_dialects = unregistered
    # The dialect of quantised types comes with the reader of artifacts.
    stablehlo.deserialize_portable_artifact(ctx, (root / "tests/read/bytecode/portable-1.0.bc").read_bytes())
    return ctx


strict, lenient = context(False), context(True)


def accepted(text, ctx):
    """What jaxlib has against a text; empty when nothing."""
    try:
        with ctx:
            ir.Module.parse(text)
        return ""
    except Exception as error:  # noqa: BLE001: jaxlib has types of its own
        return str(error) or "refused"


def parts(path):
    return [part for part in path.read_text().split("// -----") if "func.func" in part]


def without_checks(text):
    return b"\n".join(line for line in text.split(b"\n") if not line.lstrip().startswith((b"check.", b"interpreter.print")))


def check_message(what, message):
    """Good when there is none; of a long one the line with the error."""
    lines = message.strip().splitlines()
    check(what, not message, lines[min(1, len(lines) - 1)] if lines else "failed")


def check_artifact(what, artifact):
    try:
        with strict:
            module = stablehlo.deserialize_portable_artifact(strict, artifact)
            printed = module.operation.get_asm(print_generic_op_form=True)  # the other form does not always read back
    except Exception as error:  # noqa: BLE001
        check_message(what, str(error) or "refused")
        return
    texts = []
    for source in (artifact, printed.encode()):
        good, again, message = run(["opt", "--emit", "bytecode", "-"], source)
        good, again, message = run(["opt", "-"], again) if good else (good, again, message)
        texts.append(again if good else message.encode())
    check_message(what, "" if texts[0] == texts[1] else "jaxlib has another program")


def check_refused(what, text):
    """Ops of CHLO and other dialects have no form in artifacts: jaxlib refuses them as hilo does."""
    try:
        with strict, strict.attach_diagnostic_handler(lambda _: True):
            stablehlo.serialize_portable_artifact(ir.Module.parse(text), newest)
    except ValueError:
        check_message(what, "")
    else:
        check_message(what, "jaxlib writes an artifact")


def main():
    shared = pathlib.Path(os.environ.get("HILO_SHARED", root.parent / "shared"))
    files = sorted(root.glob("tests/op/*.mlir")) + sorted((shared / "conformance/interpret").glob("*.mlir"))
    files = [pathlib.Path(f) for f in sys.argv[1:]] or files
    for path in files:
        for n, part in enumerate(parts(path), 1):
            what = f"{path.name} part {n}"
            good, text, _ = run(["opt", "-"], part.encode())
            if not good:
                continue  # it tests a refusal
            plain = without_checks(text)
            good, artifact, message = run(["opt", "--emit", "bytecode", "--target-version", newest, "-"], plain)
            if "needs StableHLO" in message:
                skip(what, "jaxlib's StableHLO is older than the program")
                continue
            _, generic, _ = run(["opt", "--generic", "-"], part.encode())
            check_message(f"{what}, generic", accepted(generic.decode(), lenient))
            if b"interpreter." not in plain and b"check." not in plain:
                check_message(what, accepted(plain.decode(), strict))
                if good:
                    check_artifact(f"{what}, artifact", artifact)
                elif "has no form in a portable artifact" in message:
                    check_refused(f"{what}, artifact", plain.decode())
                else:
                    check_message(f"{what}, artifact", message)
    common.end()


main()
