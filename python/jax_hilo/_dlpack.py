"""DLPack: arrays of hilo are host memory, or a GPU's, but jaxlib exports only arrays of platforms that it knows ("cannot be used as a DLPack
device"). Here they are exported without a copy, from a GPU as its memory unless the host's is asked for; arrays of either that are
imported become arrays of hilo where that is the default platform."""
import ctypes
import functools

import numpy as np

from jax_hilo import PLATFORM_GPU, PLATFORMS

# ---- the binary interface: DLManagedTensor of DLPack 0.8 -----------------------------------------------------------------

_HOST, _CUDA = (1, 0), (2, 0)


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


def _capsule(owner, address, device, strides):
    """Of memory that the owner, an array, keeps; strides in elements."""
    code = _BFLOAT if owner.dtype.name == "bfloat16" else _CODES.get(owner.dtype.kind)
    if code is None:
        raise BufferError(f"DLPack has no element type {owner.dtype}")
    shape = (ctypes.c_int64 * max(owner.ndim, 1))(*owner.shape)
    strides = (ctypes.c_int64 * max(owner.ndim, 1))(*strides)
    managed = _Managed(_Tensor(address, *device, owner.ndim, code, 8 * owner.dtype.itemsize, 1, shape, strides, 0), None,
                       _deleter)
    at = ctypes.addressof(managed)
    _exported[at] = (managed, shape, strides, owner)
    return _new(at, b"dltensor", _destructor)


def _of_host(array):
    return _capsule(array, array.ctypes.data, _HOST, [s // array.itemsize for s in array.strides])


def _of_device(x):
    order, strides, step = x.format.layout.major_to_minor, [0] * x.ndim, 1
    for d in reversed(order):
        strides[d], step = step, step * x.shape[d]
    return _capsule(x, x.unsafe_buffer_pointer(), _CUDA, strides)


# ---- JAX ---------------------------------------------------------------------------------------------------------------------


def _of_hilo(x, platforms=PLATFORMS):
    devices = getattr(getattr(x, "sharding", None), "device_set", ())
    return bool(devices) and all(d.platform in platforms for d in devices)


def _on_gpu(x):
    return _of_hilo(x, (PLATFORM_GPU,)) and x.sharding.memory_kind == "device"


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
        places = [_CUDA, _HOST] if _on_gpu(x) else [_HOST]
        place = places[0] if dl_device is None else tuple(map(int, dl_device))
        if place not in places:
            raise BufferError(f"the array is in the memory of {places[0]}, not on the device {dl_device}")
        if len(x.sharding.device_set) > 1:
            raise BufferError("an array on several devices cannot be exported")
        x = x.block_until_ready().addressable_data(0)
        if place == _CUDA:
            return _of_device(jax.numpy.array(x, copy=True) if copy else x)
        return _of_host(np.array(x) if copy else np.asarray(x))

    @functools.wraps(take)
    def from_dlpack(external_array, device=None, copy=None):
        target = device
        if isinstance(device, jax.sharding.Sharding) and len(device.device_set) == 1:
            target, = device.device_set
        if target is None and xla_bridge.default_backend() in PLATFORMS:
            target = jax.config.jax_default_device or xla_bridge.local_devices()[0]
        known = hasattr(external_array, "__dlpack__") and hasattr(external_array, "__dlpack_device__")
        place = int(external_array.__dlpack_device__()[0]) if known else None
        gpu = getattr(target, "platform", None) == PLATFORM_GPU
        if getattr(target, "platform", None) not in PLATFORMS or place not in ((_HOST[0], _CUDA[0]) if gpu else (_HOST[0],)):
            return take(external_array, device, copy)
        if isinstance(external_array, array.ArrayImpl) and external_array.platform() == target.platform:
            return jax.numpy.array(external_array, copy=bool(copy), device=target)
        if gpu and place == _HOST[0]:
            if copy is False:
                raise ValueError("an array of the host cannot be on a GPU without a copy")
            return jax.device_put(np.from_dlpack(external_array), device if device is not None else target)
        try:
            imported = _jax.dlpack_managed_tensor_to_buffer(external_array.__dlpack__(), target, None, copy, place)
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
        if not _of_hilo(self) or len(self.sharding.device_set) > 1:
            return place(self)
        return _CUDA if _on_gpu(self) else _HOST

    array.ArrayImpl.__dlpack_device__ = __dlpack_device__
