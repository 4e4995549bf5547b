"""hilo without JAX: StableHLO programs as functions of numpy arrays.

    import hilo, numpy as np

    f = hilo.compile(open("model.mlir").read())       # or what jax.export.export(f)(x) gives, or bytecode
    y = f(np.ones((4, 8), np.float32))
    f.save("model.hilo")                              # machine code; hilo.load() needs no compiler
    f.explain(np.ones((4, 8), np.float32))            # the steps of a run and their times; a table in a notebook

Executables may be called from any thread, and let other threads of Python run meanwhile.
"""
from __future__ import annotations

import ctypes
import html
import os
import threading
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hilo import _library as _c

__all__ = ["Client", "Diagnostic", "Error", "Executable", "Explanation", "Port", "Step", "compile", "load", "version"]

# ---- errors ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Diagnostic:
    """One message of hilo: what was found, where, and what was expected."""

    message: str
    label: str  #: constraint of the StableHLO specification, "dot_general_c10", or ""
    file: str
    line: int  #: from 1; 0 = unknown
    column: int
    source: str  #: that line of the program, or ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else f"{self.file}: " if self.file else ""
        label = f"[{self.label}] " if self.label else ""
        caret = "\n" + self.source + "\n" + " " * (self.column - 1) + "^" if self.source and self.column else ""
        return place + label + self.message + caret


class Error(RuntimeError):
    """Every error of this package: a program that is refused, arguments of the wrong number, type or shape, a failed run. `status`
    is a name such as "INVALID_ARGUMENT"; `diagnostics` say where in a program and what was expected."""

    def __init__(self, status: str, diagnostics: Sequence[Diagnostic] = ()):
        super().__init__("\n".join(map(str, diagnostics)) or status)
        self.status = status
        self.diagnostics = tuple(diagnostics)


def _invalid(message: str) -> Error:
    return Error("INVALID_ARGUMENT", [Diagnostic(message, "", "", 0, 0, "")])


_heard = threading.local()


@_c.HEAR
def _hear(_user, pointer):
    d = pointer.contents
    text = [(value or b"").decode(errors="replace") for value in (d.message, d.label, d.file)]
    diagnostic = Diagnostic(*text, d.line, d.column, (d.source or b"").decode(errors="replace"))
    _heard.__dict__.setdefault("list", []).append(diagnostic)


def _check(call: Callable[..., int], *arguments) -> None:
    """Diagnostics come on the thread of the call, before it returns."""
    _heard.list = []
    status = call(*arguments)
    if status != _c.OK:
        raise Error(_c.library().hilo_status_name(status).decode(), _heard.list)


class _Handle:
    """An object of the library, released with the last reference to it."""

    def __init__(self, pointer: int, release: Callable):
        self.pointer = pointer
        self._release = release

    def __del__(self):
        self._release(self.pointer)


def _text_of(call: Callable, *arguments) -> bytes:
    parts: list[bytes] = []
    _check(call, *arguments, _c.WRITE(lambda _user, text, n: parts.append(ctypes.string_at(text, n))), None)
    return b"".join(parts)


# ---- clients -----------------------------------------------------------------------------------------------------------------


class Client:
    """A context in which programs run: its threads, and the defaults of compile().

    threads: of a run; 0 = one per core. level: optimisation level, 0 to 3. backend: "auto", or "reference", the
    evaluator that defines every result. tier: what makes machine code, with the same results: "baseline", at once, "optimised",
    which takes longer, or "auto", the first and then the second where runs take long enough for it to pay. cache_dir: where what
    is compiled is kept for other processes; "" = nowhere, None = where HILO_CACHE_DIR or the system sets.
    """

    def __init__(self, threads: int = 0, level: int = 2, backend: str = "auto", cache_dir: str | os.PathLike | None = None,
                 tier: str = "auto"):
        lib, pointer = _c.library(), ctypes.c_void_p()
        options = _c.ClientOptions(threads=threads, device=b"cpu", diagnostic=ctypes.cast(_hear, ctypes.c_void_p),
                                   cache_dir=None if cache_dir is None else os.fsencode(cache_dir))
        _check(lib.hilo_client_create, options, ctypes.byref(pointer))
        self._handle = _Handle(pointer.value, lib.hilo_client_release)
        self.level, self.backend, self.tier = level, backend, tier

    @property
    def threads(self) -> int:
        return _c.library().hilo_client_threads(self._handle.pointer)

    def __repr__(self) -> str:
        return f"hilo.Client(threads={self.threads}, level={self.level}, backend={self.backend!r})"

    def compile(self, program, *, entry: str | None = None, level: int | None = None, backend: str | None = None) -> Executable:
        """compile() for this client."""
        backend = self.backend if backend is None else backend
        if backend not in _c.BACKENDS:
            raise _invalid(f"backend {backend!r}: expected one of {', '.join(_c.BACKENDS)}")
        if self.tier not in _c.TIERS:
            raise _invalid(f"tier {self.tier!r}: expected one of {', '.join(_c.TIERS)}")
        lib, pointer = _c.library(), ctypes.c_void_p()
        options = _c.CompileOptions(tier=_c.TIERS[self.tier], level=self.level if level is None else level,
                                    backend=_c.BACKENDS[backend], cache=1,
                                    entry=entry.encode() if entry else None)
        module = self._module(program)
        _check(lib.hilo_compile, self._handle.pointer, module.pointer, options, ctypes.byref(pointer))
        return Executable(self, _Handle(pointer.value, lib.hilo_executable_release), program)

    def load(self, file) -> Executable:
        """load() for this client."""
        lib, pointer = _c.library(), ctypes.c_void_p()
        if isinstance(file, (bytes, bytearray, memoryview)):
            data = bytes(file)
            _check(lib.hilo_executable_deserialize, self._handle.pointer, data, len(data), ctypes.byref(pointer))
        else:
            _check(lib.hilo_executable_load, self._handle.pointer, os.fsencode(file), ctypes.byref(pointer))
        return Executable(self, _Handle(pointer.value, lib.hilo_executable_release))

    def _module(self, program) -> _Handle:
        lib, pointer, options = _c.library(), ctypes.c_void_p(), _c.ModuleOptions()
        if isinstance(program, os.PathLike):
            _check(lib.hilo_module_load, self._handle.pointer, os.fsencode(program), options, ctypes.byref(pointer))
        else:
            data = _program_bytes(program)
            _check(lib.hilo_module_parse, self._handle.pointer, data, len(data), options, ctypes.byref(pointer))
        return _Handle(pointer.value, lib.hilo_module_release)


def _program_bytes(program) -> bytes:
    if isinstance(program, str):
        return program.encode()
    if isinstance(program, (bytes, bytearray, memoryview)):
        return bytes(program)
    if hasattr(program, "mlir_module_serialized"):  # jax.export.Exported
        return bytes(program.mlir_module_serialized)
    if hasattr(program, "compiler_ir"):  # jax.stages.Lowered
        return str(program.compiler_ir("stablehlo")).encode()
    raise _invalid(f"a program is text, bytecode, a path, or what jax.export or lower() gives, not {type(program).__name__}")


_default: Client | None = None
_lock = threading.Lock()


def _default_client() -> Client:
    global _default
    with _lock:
        if _default is None:
            _default = Client()
        return _default


def compile(program, *, entry: str | None = None, level: int | None = None, backend: str | None = None,
            client: Client | None = None) -> Executable:
    """A program as a function of numpy's arrays.

    program: StableHLO or HLO text (str), bytecode such as a portable artifact (bytes), the path of a file (pathlib.Path), what
    jax.export.export(f)(…) gives, or what jax.jit(f).lower(…) gives. entry: the function to run, "main" by default. Raises Error,
    whose diagnostics say where the program is wrong.
    """
    return (client or _default_client()).compile(program, entry=entry, level=level, backend=backend)


def load(file: str | os.PathLike | bytes, *, client: Client | None = None) -> Executable:
    """The executable that Executable.save() or `hilo compile` wrote: a path, or the file's bytes. It is code: load only what you
    trust."""
    return (client or _default_client()).load(file)


def version() -> str:
    """Version of the library."""
    return _c.library().hilo_version().decode()


# ---- executables -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Port:
    """A parameter or result; a dimension known only at run time is None."""

    name: str
    dtype: str  #: as StableHLO spells it
    shape: tuple[int | None, ...]

    def __str__(self) -> str:
        return "x".join(["?" if d is None else str(d) for d in self.shape] + [self.dtype])


class _Memory:
    """Memory of a buffer, as what numpy's arrays rest on."""

    def __init__(self, buffer: int):
        self._buffer = buffer

    def __del__(self, release=_c.library):
        release().hilo_buffer_release(self._buffer)


def _wrap(client: int, array: np.ndarray, dtype: int) -> int:
    lib, pointer = _c.library(), ctypes.c_void_p()
    dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    if dtype == _c.TOKEN:
        _check(lib.hilo_buffer_create, client, dtype, dims, 0, ctypes.byref(pointer))
    elif dtype in _c.NARROW:
        _check(lib.hilo_buffer_from_host, client, dtype, dims, array.ndim, array.ctypes.data, None, ctypes.byref(pointer))
    else:
        _check(lib.hilo_buffer_wrap, client, dtype, dims, array.ndim, array.ctypes.data, None, None, ctypes.byref(pointer))
    return pointer.value


def _unwrap(buffer: int, inputs: Sequence[np.ndarray]) -> np.ndarray | None:
    """A result as an array that keeps the buffer; a copy when the buffer is an input's memory."""
    lib, memory = _c.library(), _Memory(buffer)
    number, rank, dims = lib.hilo_buffer_dtype(buffer), lib.hilo_buffer_rank(buffer), lib.hilo_buffer_dims(buffer)
    if number == _c.TOKEN:
        return None
    dtype, shape, at = _c.numpy_dtype(number), tuple(dims[i] for i in range(rank)), lib.hilo_buffer_data(buffer)
    nbytes = lib.hilo_buffer_bytes(buffer)
    if not nbytes:
        return np.zeros(shape, dtype)
    raw = (ctypes.c_char * nbytes).from_address(at)
    raw.memory = memory
    array = np.frombuffer(raw, np.uint8).view(dtype).reshape(shape)
    borrowed = any(a.ctypes.data <= at < a.ctypes.data + max(a.nbytes, 1) for a in inputs)
    return array.copy() if borrowed else array


class Executable:
    """A compiled program. f(x, y) takes arrays, or what numpy makes arrays of, and gives an array, or a tuple when the program has
    several results; of what jax.export gives, it takes and gives the same trees as the function that was exported."""

    def __init__(self, client: Client, handle: _Handle, program=None):
        self.client = client
        self._handle = handle
        lib, pointer = _c.library(), handle.pointer
        self._dtypes: list[int] = []
        self.inputs = self._ports(lib.hilo_executable_input_count(pointer), lib.hilo_executable_input_type,
                                  lib.hilo_executable_input_name, self._dtypes)
        self.outputs = self._ports(lib.hilo_executable_output_count(pointer), lib.hilo_executable_output_type,
                                   lib.hilo_executable_output_name, [])
        self._exported = program if hasattr(program, "in_tree") and hasattr(program, "mlir_module_serialized") else None

    def _ports(self, n: int, type_of: Callable, name_of: Callable, dtypes: list[int]) -> tuple[Port, ...]:
        ports, t = [], _c.Type()
        for i in range(n):
            _check(type_of, self._handle.pointer, i, t)
            dtypes.append(t.dtype)
            shape = tuple(None if t.dims[k] == _c.DYNAMIC else t.dims[k] for k in range(t.rank))
            ports.append(Port(name_of(self._handle.pointer, i).decode(), _c.library().hilo_dtype_name(t.dtype).decode(), shape))
        return tuple(ports)

    def __repr__(self) -> str:
        return f"<hilo.Executable ({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})>"

    def __call__(self, *arguments, **named):
        if self._exported is None:
            if named:
                raise _invalid(f"arguments are given by their places; there is no argument {next(iter(named))!r}")
            results = self._run(arguments)
            return results[0] if len(results) == 1 else tuple(results)
        return self._call_exported(arguments, named)

    def _call_exported(self, arguments, named):
        import jax

        leaves, tree = jax.tree_util.tree_flatten((arguments, named))
        if tree != self._exported.in_tree:
            raise _invalid(f"the exported function takes {self._exported.in_tree}, not {tree}")
        return jax.tree_util.tree_unflatten(self._exported.out_tree, self._run(self._kept(leaves)))

    def _kept(self, leaves: Sequence) -> list:
        """What is left of an exported function's arguments: those that it does not use are no parameters of the program."""
        return [leaves[i] for i in self._exported.module_kept_var_idx]

    def _arrays(self, arguments: Sequence) -> list[np.ndarray]:
        if len(arguments) != len(self.inputs):
            raise _invalid(f"the program takes {len(self.inputs)} arguments, not {len(arguments)}")
        arrays = []
        for i, (argument, port, number) in enumerate(zip(arguments, self.inputs, self._dtypes)):
            if number == _c.TOKEN:
                arrays.append(np.zeros(0, np.uint8))
                continue
            dtype = _c.numpy_dtype(number)
            try:
                array = np.asarray(argument)
                if array.dtype != dtype and hasattr(argument, "dtype"):
                    raise _invalid(f"argument {i} {port.name}: expected {dtype}, not {array.dtype}")
                array = array.astype(dtype, copy=False)  # a number or a list of Python's
            except (TypeError, ValueError) as error:
                raise _invalid(f"argument {i} {port.name}: expected an array of {dtype}: {error}") from None
            arrays.append(np.require(array, requirements="CA"))
        return arrays

    def _run(self, arguments: Sequence, on_step=None) -> list:
        lib, client = _c.library(), self.client._handle.pointer
        arrays, wrapped = self._arrays(arguments), []
        try:
            for array, number in zip(arrays, self._dtypes):
                wrapped.append(_wrap(client, array, number))
            step = _c.STEP(on_step) if on_step else None
            options = _c.ExecuteOptions(step=ctypes.cast(step, ctypes.c_void_p) if step else None)
            inputs, outputs = (ctypes.c_void_p * max(len(wrapped), 1))(*wrapped), (ctypes.c_void_p * max(len(self.outputs), 1))()
            _check(lib.hilo_execute, self._handle.pointer, options, inputs, len(wrapped), outputs, len(self.outputs))
            return [_unwrap(outputs[i], arrays) for i in range(len(self.outputs))]
        finally:
            for buffer in wrapped:
                lib.hilo_buffer_release(buffer)

    def optimise(self) -> None:
        """Returns once the code is optimised, which otherwise happens while it runs for long."""
        _check(_c.library().hilo_executable_optimise, self._handle.pointer)

    def serialize(self) -> bytes:
        """The executable as a .hilo file, for load(): machine code for processors like this one and this version of hilo."""
        return _text_of(_c.library().hilo_executable_serialize, self._handle.pointer)

    def save(self, path: str | os.PathLike) -> None:
        """serialize() into a file."""
        with open(path, "wb") as file:
            file.write(self.serialize())

    @property
    def stats(self) -> dict[str, float]:
        """executions, total_ms, last_ms, average_ms, compile_ms, peak_bytes."""
        stats = _c.Stats()
        _check(_c.library().hilo_executable_stats, self._handle.pointer, stats)
        return {name: getattr(stats, name) for name, _ in stats._fields_[1:]}

    def explain(self, *arguments) -> Explanation:
        """Runs the program once and tells its steps: what each is, how long it took, what it moved. Without arguments it is run on
        zeros."""
        if not arguments:
            if any(d is None for port in self.inputs for d in port.shape):
                raise _invalid("explain() needs arguments: the program's shapes are known only when it runs")
            arguments = [np.zeros(port.shape, np.uint8 if number == _c.TOKEN else _c.numpy_dtype(number))
                         for port, number in zip(self.inputs, self._dtypes)]
        elif self._exported is not None:
            import jax

            arguments = self._kept(jax.tree_util.tree_leaves(arguments))
        steps: list[Step] = []

        def on_step(_user, pointer):
            e = pointer.contents
            steps.append(Step(e.kind.decode(), e.name.decode(), e.end_ms - e.begin_ms, e.bytes))

        try:
            self.optimise()
        except Error as error:  # without LLVM it keeps the code that it has
            if error.status != "UNAVAILABLE":
                raise
        self._run(arguments)  # the first run of all takes its memory from the system
        self._run(arguments, on_step)
        return Explanation(repr(self), tuple(steps), self.stats)


# ---- explanations ------------------------------------------------------------------------------------------------------------


class Step(typing.NamedTuple):
    kind: str  #: "kernel", "routine", "reference", "copy"
    name: str
    ms: float
    bytes: int  #: in the buffers that it read and wrote


@dataclass(frozen=True)
class Explanation:
    """Where a run spent its time: text when printed, a table in a notebook."""

    program: str
    steps: tuple[Step, ...]
    stats: dict[str, float]

    def _rows(self) -> list[tuple[str, ...]]:
        total = sum(step.ms for step in self.steps) or 1.0
        return [(s.kind, s.name, f"{s.ms:.3f}", f"{100 * s.ms / total:.0f} %", f"{s.bytes / 1e6:.3f}",
                 f"{s.bytes / s.ms / 1e6:.1f}" if s.ms > 0 else "") for s in self.steps]

    _HEAD = ("step", "name", "ms", "share", "MB", "GB/s")

    def _foot(self) -> str:
        return (f"{len(self.steps)} steps, {sum(s.ms for s in self.steps):.3f} ms; compiled in {self.stats['compile_ms']:.1f} ms; "
                f"at most {self.stats['peak_bytes'] / 1e6:.3f} MB in tensors")

    def __str__(self) -> str:
        rows = [self._HEAD, *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self._HEAD))]
        lines = ["  ".join(cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip()
                 for row in rows]
        return "\n".join([self.program, *lines, self._foot()])

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f'<{tag} style="text-align:{"left" if i < 2 else "right"}">{html.escape(cell)}</{tag}>'
                                    for i, cell in enumerate(cells)) + "</tr>"

        return (f"<p><code>{html.escape(self.program)}</code></p><table>{row(self._HEAD, 'th')}"
                + "".join(row(cells, "td") for cells in self._rows()) + f"</table><p>{html.escape(self._foot())}</p>")
