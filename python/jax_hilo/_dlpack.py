"""DLPack: arrays of hilo are host memory, but jaxlib exports only arrays of platforms that it knows ("cannot be used as a DLPack
device"). Here they are exported as host arrays, without a copy; host arrays that are imported become arrays of hilo where that is the
default platform."""
import ctypes
import functools

import numpy as np

from jax_hilo._calls import PLATFORM

# ---- the binary interface: DLManagedTensor of DLPack 0.8 -----------------------------------------------------------------

_HOST = (1, 0)


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]

_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_BFLOAT = 4

_exported = {}  # by the address of a _Managed: the objects that must outlive it


def _release(address, exported=_exported):  # a default: at interpreter exit module globals are gone
    exported.pop(address, None)


_deleter = _DELETER(_release)


_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))


def _unused(capsule, valid=_valid, pointer=_pointer, release=_release):
    """Releases the memory of a capsule that was not consumed; consumers rename it."""
    if valid(capsule, b"dltensor"):
        release(pointer(capsule, b"dltensor"))


_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_destructor = _DESTRUCTOR(_unused)
for _called in (_deleter, _destructor):  # by arrays that may outlive this module
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_called))
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR)(
    ("PyCapsule_New", ctypes.pythonapi))


def _capsule(host):
    code = _BFLOAT if host.dtype.name == "bfloat16" else _CODES.get(host.dtype.kind)
    if code is None:
        raise BufferError(f"DLPack has no element type {host.dtype}")
    shape = (ctypes.c_int64 * max(host.ndim, 1))(*host.shape)
    strides = (ctypes.c_int64 * max(host.ndim, 1))(*(s // host.itemsize for s in host.strides))
    managed = _Managed(_Tensor(host.ctypes.data, *_HOST, host.ndim, code, 8 * host.itemsize, 1, shape, strides, 0), None,
                       _deleter)
    address = ctypes.addressof(managed)
    _exported[address] = (managed, shape, strides, host)
    return _new(address, b"dltensor", _destructor)


# ---- JAX ---------------------------------------------------------------------------------------------------------------------


def _of_hilo(x):
    devices = getattr(getattr(x, "sharding", None), "device_set", ())
    return bool(devices) and all(d.platform == PLATFORM for d in devices)


def register():
    import jax
    from jax._src import array, dlpack, xla_bridge
    from jax._src.lib import _jax

    give, take = dlpack.to_dlpack, dlpack.from_dlpack

    @functools.wraps(give)
    def to_dlpack(x, stream=None, src_device=None, dl_device=None, max_version=None, copy=None):
        if not isinstance(x, array.ArrayImpl) or not _of_hilo(x):
            return give(x, stream, src_device, dl_device, max_version, copy)
        if stream is not None and stream != -1:
            raise BufferError("arrays of hilo have no streams")
        if dl_device is not None and tuple(map(int, dl_device)) != _HOST:
            raise BufferError(f"arrays of hilo are in the host's memory, not on the device {dl_device}")
        if len(x.sharding.device_set) > 1:
            raise BufferError("an array on several devices cannot be exported")
        x = x.block_until_ready().addressable_data(0)
        return _capsule(np.array(x) if copy else np.asarray(x))

    @functools.wraps(take)
    def from_dlpack(external_array, device=None, copy=None):
        target = device
        if isinstance(device, jax.sharding.Sharding) and len(device.device_set) == 1:
            target, = device.device_set
        if target is None and xla_bridge.default_backend() == PLATFORM:
            target = jax.config.jax_default_device or xla_bridge.local_devices(backend=PLATFORM)[0]
        known = hasattr(external_array, "__dlpack__") and hasattr(external_array, "__dlpack_device__")
        if getattr(target, "platform", None) != PLATFORM or not known or int(external_array.__dlpack_device__()[0]) != _HOST[0]:
            return take(external_array, device, copy)
        if getattr(external_array, "platform", lambda: None)() == PLATFORM and isinstance(external_array, array.ArrayImpl):
            return jax.numpy.array(external_array, copy=bool(copy), device=target)
        try:
            imported = _jax.dlpack_managed_tensor_to_buffer(external_array.__dlpack__(), target, None, copy, _HOST[0])
        except jax.errors.JaxRuntimeError as error:
            if copy is False or "UNIMPLEMENTED" not in str(error):
                raise
            imported = jax.device_put(np.from_dlpack(external_array), target)  # its layout is not row-major
        imported = jax.numpy.asarray(imported, dtype=jax.dtypes.canonicalize_dtype(imported.dtype))
        return imported if device is None or not isinstance(device, jax.sharding.Sharding) else jax.device_put(imported, device)

    dlpack.to_dlpack, dlpack.from_dlpack = to_dlpack, from_dlpack
    for module in (jax.dlpack, jax.numpy, jax._src.numpy.lax_numpy):
        if getattr(module, "from_dlpack", None) is take:
            module.from_dlpack = from_dlpack

    place = array.ArrayImpl.__dlpack_device__

    def __dlpack_device__(self):
        return _HOST if _of_hilo(self) and len(self.sharding.device_set) == 1 else place(self)

    array.ArrayImpl.__dlpack_device__ = __dlpack_device__
