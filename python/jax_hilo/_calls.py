"""Custom calls: handlers of XLA's FFI are registered with the plugin; Python callbacks share one handler of their own."""
import ctypes
import os
import threading
import traceback

import numpy as np

from jax_hilo import PLATFORMS

CALLBACK = "hilo_python_callback"

# ---- the binary interface: see src/pjrt/pjrt_api.h and src/pjrt/ffi.h --------------------------------------------------


def _struct(name, fields, head=("struct_size", "extension_start")):
    types = {"struct_size": ctypes.c_size_t, "extension_start": ctypes.c_void_p}
    return type(name, (ctypes.Structure,), {"_fields_": [(key, types[key]) for key in head] + fields})


class _Extension(ctypes.Structure):
    pass


_Extension._fields_ = [("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.POINTER(_Extension))]
_FFI_EXTENSION = 5
_FfiExtension = _struct("_FfiExtension", [("base", _Extension)] + [
    (name, ctypes.c_void_p) for name in ("type_register", "user_data_add", "register_handler", "register_stages")], head=())
_Api = _struct("_Api", [])
_STAGES = ("instantiate", "prepare", "initialize", "execute")
_Register = _struct("_Register", [
    ("name", ctypes.c_char_p), ("name_size", ctypes.c_size_t), ("stages", ctypes.c_void_p * len(_STAGES))], head=("struct_size",))
_TypeRegister = _struct("_TypeRegister", [
    ("name", ctypes.c_char_p), ("name_size", ctypes.c_size_t), ("type_id", ctypes.c_int64), ("type_info", ctypes.c_void_p)])

_Buffer = _struct("_Buffer", [("dtype", ctypes.c_int), ("data", ctypes.c_void_p), ("rank", ctypes.c_int64),
                              ("dims", ctypes.POINTER(ctypes.c_int64))])
_Buffers = _struct("_Buffers", [("n", ctypes.c_int64), ("types", ctypes.c_void_p),
                                ("items", ctypes.POINTER(ctypes.POINTER(_Buffer)))])
_Bytes = _struct("_Bytes", [("p", ctypes.c_void_p), ("n", ctypes.c_size_t)], head=())
_Scalar = _struct("_Scalar", [("dtype", ctypes.c_int), ("value", ctypes.POINTER(ctypes.c_uint64))], head=())
_Attrs = _struct("_Attrs", [("n", ctypes.c_int64), ("types", ctypes.c_void_p),
                            ("names", ctypes.POINTER(ctypes.POINTER(_Bytes))),
                            ("items", ctypes.POINTER(ctypes.POINTER(_Scalar)))])
_ErrorCreate = _struct("_ErrorCreate", [("message", ctypes.c_char_p), ("code", ctypes.c_int)])
_CREATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_ErrorCreate))
_FfiApi = _struct("_FfiApi", [("version", ctypes.c_byte * 24), ("internal", ctypes.c_void_p), ("error_create", _CREATE)])
_Frame = _struct("_Frame", [("api", ctypes.POINTER(_FfiApi)), ("context", ctypes.c_void_p), ("stage", ctypes.c_int),
                            ("arguments", _Buffers), ("results", _Buffers), ("attrs", _Attrs),
                            ("future", ctypes.c_void_p)])
_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Frame))

_TOKEN, _INTERNAL = 17, 13


def _dtypes():
    import ml_dtypes

    return {1: np.bool_, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.uint8, 7: np.uint16, 8: np.uint32,
            9: np.uint64, 10: np.float16, 11: np.float32, 12: np.float64, 15: np.complex64, 16: ml_dtypes.bfloat16,
            18: np.complex128, 19: ml_dtypes.float8_e5m2, 20: ml_dtypes.float8_e4m3fn, 21: ml_dtypes.int4,
            22: ml_dtypes.uint4, 23: ml_dtypes.float8_e4m3b11fnuz, 24: ml_dtypes.float8_e5m2fnuz,
            25: ml_dtypes.float8_e4m3fnuz, 26: ml_dtypes.int2, 27: ml_dtypes.uint2, 28: ml_dtypes.float8_e4m3,
            29: ml_dtypes.float8_e3m4, 32: ml_dtypes.float4_e2m1fn, 33: ml_dtypes.float8_e8m0fnu}


_NUMPY = {}

# ---- Python functions ----------------------------------------------------------------------------------------------------

functions = {}  # by number
_retired = []  # numbers of functions that no program refers to, with the newest number at that time
_next = 0
_lock = threading.Lock()


def add(function):
    """Keeps a function; its number is the attribute `index` of the calls to it."""
    global _next
    with _lock:
        _next += 1
        functions[_next] = function
        return _next


def retire(index, retired=_retired):
    """No program refers to the function, but a run that has started may still call it. Such runs have ended when a newer function is
    called: a device executes runs in order."""
    retired.append((index, _next))


def _drop_retired(running):
    if int(os.environ.get("HILO_NUM_DEVICES") or 1) == 1:
        for entry in [entry for entry in _retired if entry[1] < running]:
            functions.pop(entry[0], None)
            _retired.remove(entry)


def _array(buffer):
    b = buffer.contents
    if b.dtype == _TOKEN:
        return None
    dtype = np.dtype(_NUMPY[b.dtype])
    shape = tuple(b.dims[i] for i in range(b.rank))
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = (ctypes.c_char * size).from_address(b.data) if size else b""
    return np.frombuffer(raw, np.uint8).view(dtype).reshape(shape) if size else np.zeros(shape, dtype)


class Buffer:
    """Memory of an operand or result, valid during the call: an argument of jax.experimental.buffer_callback's functions."""

    def __init__(self, array, writeable):
        self._array = array
        self.shape, self.dtype, self.ndim, self.writeable = array.shape, array.dtype, array.ndim, writeable
        array.flags.writeable = writeable

    def __array__(self, dtype=None, copy=None):
        return np.array(self._array, dtype, copy=copy)

    def __dlpack__(self, **options):
        array = self._array
        if not self.writeable:  # numpy lends nothing that is not writeable
            array = array.copy() if options.get("copy") is not False else array
            array.flags.writeable = True
        return array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Context:
    """Of a call: there is no stream."""

    def __init__(self, stage):
        self.stage = stage

    @property
    def stream(self):
        import jax

        raise jax.errors.JaxRuntimeError("UNIMPLEMENTED: XLA FFI GPU context is not available")


class BufferFunction:
    """A function that gets the memory of operands and results, and fills the latter."""

    def __init__(self, function, stage):
        self.function, self.context = function, Context(stage)

    def __call__(self, operands, results):
        self.function(self.context, *(Buffer(a, False) for a in operands), *(Buffer(a, True) for a in results))


def _run(frame):
    f = frame.contents
    index = int(f.attrs.items[0].contents.value[0])
    _drop_retired(index)
    if isinstance(functions[index], BufferFunction):
        functions[index]([_array(f.arguments.items[i]) for i in range(f.arguments.n)],
                         [_array(f.results.items[i]) for i in range(f.results.n)])
        return
    arguments = [_array(f.arguments.items[i]) for i in range(f.arguments.n)]
    arguments = [a.copy() for a in arguments if a is not None]  # a function may keep them
    results = [r for r in (_array(f.results.items[i]) for i in range(f.results.n)) if r is not None]
    for to, value in zip(results, functions[index](*arguments), strict=True):
        if to.size:
            to[...] = value


@_HANDLER
def _handler(frame):
    try:
        _run(frame)
        return None
    except BaseException:  # noqa: BLE001: any exception is the run's error
        message = traceback.format_exc().encode()
        return frame.contents.api.contents.error_create(
            _ErrorCreate(ctypes.sizeof(_ErrorCreate), None, message, _INTERNAL))


# ---- registration ----------------------------------------------------------------------------------------------------------


def _register_functions(path):
    """The plugin's functions that register custom calls, by the addresses of their stages, and types, by their capsules."""
    library = ctypes.CDLL(path)
    library.GetPjrtApi.restype = ctypes.POINTER(_Api)
    at = ctypes.cast(library.GetPjrtApi().contents.extension_start, ctypes.POINTER(_Extension))
    while at and at.contents.type != _FFI_EXTENSION:
        at = at.contents.next
    extension = ctypes.cast(at, ctypes.POINTER(_FfiExtension)).contents
    take_call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Register))(extension.register_stages)
    take_type = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_TypeRegister))(extension.type_register)

    def register(name, stages):
        name = name.encode() if isinstance(name, str) else name
        addresses = (ctypes.c_void_p * len(_STAGES))(*(stages.get(stage) for stage in _STAGES))
        if take_call(_Register(ctypes.sizeof(_Register), name, len(name), addresses)):
            raise RuntimeError(f"the custom call {name!r} cannot be registered")

    def register_type(name, registration):
        capsules = registration if isinstance(registration, dict) else {"type_id": registration}
        number = ctypes.cast(_address(capsules["type_id"]), ctypes.POINTER(ctypes.c_int64))
        info = _address(capsules["type_info"]) if "type_info" in capsules else None
        args = _TypeRegister(ctypes.sizeof(_TypeRegister), None, name.encode(), len(name.encode()), number[0], info)
        if take_type(args):
            raise RuntimeError(f"the type {name!r} cannot be registered")
        number[0] = args.type_id

    return register, register_type


def _address(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule, name(capsule))


def _stages(fn):
    """The addresses of a handler's stages; a handler alone is executed."""
    return {stage: _address(capsule) for stage, capsule in (fn if isinstance(fn, dict) else {"execute": fn}).items()}


def register_handlers(path):
    from jax._src.lib import xla_client
    from jaxlib import lapack

    _NUMPY.update(_dtypes())
    register, register_type = _register_functions(path)
    register(CALLBACK, {"execute": ctypes.cast(_handler, ctypes.c_void_p).value})
    for name, handler, api_version in lapack.registrations()["cpu"]:
        if api_version == 1:
            register(name, _stages(handler))

    def on_register(name, fn, platform, api_version, traits=0):
        del platform, traits
        if api_version != 1:
            raise NotImplementedError(f"custom call {name!r}: hilo supports typed handlers (api_version 1) only")
        register(name, _stages(fn))

    for name in PLATFORMS:
        xla_client.register_custom_call_handler(name, on_register)
        xla_client.register_custom_type_handler(name, register_type)
