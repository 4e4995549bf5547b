"""libhilo by ctypes: the functions of hilo.h that this package calls, its option structs, its element types."""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
import re
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

import numpy as np

DYNAMIC = -(2**63)
OK, INVALID_ARGUMENT = 0, 3

WRITE = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)


class _Sized(ctypes.Structure):
    """A struct that begins with its size in this package: a library whose struct is larger fills in the rest."""

    def __init__(self, **fields):
        super().__init__(ctypes.sizeof(self), **fields)


class Type(ctypes.Structure):
    _fields_ = [("dtype", c_int), ("rank", c_uint32), ("dims", POINTER(c_int64))]


class Diagnostic(_Sized):
    _fields_ = [("struct_size", c_size_t), ("severity", c_int), ("status", c_int), ("message", c_char_p), ("label", c_char_p),
                ("file", c_char_p), ("line", c_uint32), ("column", c_uint32), ("source", c_char_p)]


class ClientOptions(_Sized):
    _fields_ = [("struct_size", c_size_t), ("threads", c_int32), ("device", c_char_p), ("allocate", c_void_p),
                ("allocate_user", c_void_p), ("log", c_void_p), ("log_user", c_void_p), ("diagnostic", c_void_p),
                ("diagnostic_user", c_void_p), ("cache_dir", c_char_p), ("cache_bytes", c_uint64)]


class ModuleOptions(_Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("first_line", c_uint32), ("skip_verify", c_int32)]


class CompileOptions(_Sized):
    _fields_ = [("struct_size", c_size_t), ("level", c_int32), ("backend", c_int), ("entry", c_char_p), ("dump_dir", c_char_p),
                ("passes", c_char_p), ("cache", c_int32), ("target_cpu", c_char_p), ("memory_limit", c_size_t),
                ("machine", c_char_p), ("batch_invariant", c_int32), ("tier", c_int)]


class StepEvent(_Sized):
    _fields_ = [("struct_size", c_size_t), ("kind", c_char_p), ("name", c_char_p), ("begin_ms", c_double), ("end_ms", c_double),
                ("bytes", c_uint64)]


class ExecuteOptions(_Sized):
    _fields_ = [("struct_size", c_size_t), ("donate", c_void_p), ("timing", c_void_p), ("cancelled", c_void_p),
                ("cancelled_user", c_void_p), ("step", c_void_p), ("step_user", c_void_p),
                ("task", c_void_p), ("task_user", c_void_p)]


class Stats(_Sized):
    _fields_ = [("struct_size", c_size_t), ("executions", c_uint64), ("total_ms", c_double), ("last_ms", c_double),
                ("average_ms", c_double), ("compile_ms", c_double), ("peak_bytes", c_uint64)]


HEAR = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Diagnostic))
STEP = ctypes.CFUNCTYPE(None, c_void_p, POINTER(StepEvent))

# name: result, arguments
_FUNCTIONS = {
    "hilo_version": (c_char_p,),
    "hilo_status_name": (c_char_p, c_int),
    "hilo_dtype_name": (c_char_p, c_int),
    "hilo_client_create": (c_int, POINTER(ClientOptions), POINTER(c_void_p)),
    "hilo_client_release": (None, c_void_p),
    "hilo_client_threads": (c_int32, c_void_p),
    "hilo_module_parse": (c_int, c_void_p, c_char_p, c_size_t, POINTER(ModuleOptions), POINTER(c_void_p)),
    "hilo_module_load": (c_int, c_void_p, c_char_p, POINTER(ModuleOptions), POINTER(c_void_p)),
    "hilo_module_release": (None, c_void_p),
    "hilo_compile": (c_int, c_void_p, c_void_p, POINTER(CompileOptions), POINTER(c_void_p)),
    "hilo_executable_release": (None, c_void_p),
    "hilo_executable_optimise": (c_int, c_void_p),
    "hilo_executable_serialize": (c_int, c_void_p, WRITE, c_void_p),
    "hilo_executable_deserialize": (c_int, c_void_p, c_char_p, c_size_t, POINTER(c_void_p)),
    "hilo_executable_load": (c_int, c_void_p, c_char_p, POINTER(c_void_p)),
    "hilo_executable_input_count": (c_size_t, c_void_p),
    "hilo_executable_output_count": (c_size_t, c_void_p),
    "hilo_executable_input_type": (c_int, c_void_p, c_size_t, POINTER(Type)),
    "hilo_executable_output_type": (c_int, c_void_p, c_size_t, POINTER(Type)),
    "hilo_executable_input_name": (c_char_p, c_void_p, c_size_t),
    "hilo_executable_output_name": (c_char_p, c_void_p, c_size_t),
    "hilo_buffer_from_host": (c_int, c_void_p, c_int, POINTER(c_int64), c_uint32, c_void_p, POINTER(c_int64), POINTER(c_void_p)),
    "hilo_buffer_wrap": (c_int, c_void_p, c_int, POINTER(c_int64), c_uint32, c_void_p, c_void_p, c_void_p, POINTER(c_void_p)),
    "hilo_buffer_create": (c_int, c_void_p, c_int, POINTER(c_int64), c_uint32, POINTER(c_void_p)),
    "hilo_buffer_release": (None, c_void_p),
    "hilo_buffer_dtype": (c_int, c_void_p),
    "hilo_buffer_rank": (c_uint32, c_void_p),
    "hilo_buffer_dims": (POINTER(c_int64), c_void_p),
    "hilo_buffer_bytes": (c_size_t, c_void_p),
    "hilo_buffer_data": (c_void_p, c_void_p),
    "hilo_execute": (c_int, c_void_p, POINTER(ExecuteOptions), POINTER(c_void_p), c_size_t, POINTER(c_void_p), c_size_t),
    "hilo_executable_stats": (c_int, c_void_p, POINTER(Stats)),
}

TIERS = {"auto": 0, "baseline": 1, "optimised": 2}
BACKENDS = {"auto": 0, "reference": 1, "interpreter": 2, "codegen": 3, "library": 4}
TOKEN = 23

# numpy's name (or ml_dtypes') of each element type, by hilo's number.
_NAMES = {
    1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "uint8", 7: "uint16", 8: "uint32", 9: "uint64", 10: "float16",
    11: "float32", 12: "float64", 13: "bfloat16", 14: "complex64", 15: "complex128", 16: "float8_e5m2", 17: "float8_e4m3fn",
    18: "float8_e4m3b11fnuz", 19: "float8_e5m2fnuz", 20: "float8_e4m3fnuz", 21: "int4", 22: "uint4", 24: "int2", 25: "uint2",
    26: "float8_e4m3", 27: "float8_e3m4", 28: "float8_e8m0fnu", 29: "float4_e2m1fn", 1000: "float6_e2m3fn",
    1001: "float6_e3m2fn",
}

# Those of less than 8 bits: both keep an element in a byte, but hilo's is extended to 8 bits, where ml_dtypes' upper bits are 0.
NARROW = frozenset(number for number, name in _NAMES.items() if re.match(r"(u?int|float)[246](_|$)", name))


def numpy_dtype(number: int) -> np.dtype:
    """numpy's element type for hilo's number; of ml_dtypes where numpy has none."""
    name = _NAMES.get(number)
    if name is None:
        raise TypeError(f"numpy has no element type for {library().hilo_dtype_name(number).decode()}")
    if hasattr(np, name) or name == "bool":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError(f"arrays of {name} need the package ml_dtypes") from None
    return np.dtype(getattr(ml_dtypes, name))


def _path() -> str:
    named = os.environ.get("HILO_LIBRARY")
    own = pathlib.Path(__file__).with_name("libhilo.so")
    path = named or (str(own) if own.exists() else ctypes.util.find_library("hilo"))
    if not path:
        raise ImportError("libhilo is neither in the package nor among the system's libraries; HILO_LIBRARY names one elsewhere")
    return path


_library: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """libhilo, opened when it is first needed: the one that HILO_LIBRARY names, the package's, or the system's."""
    global _library
    if _library is None:
        lib = ctypes.CDLL(_path())
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
        _library = lib
    return _library
