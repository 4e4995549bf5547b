"""JAX internals that list platforms by name, extended to hilo: lowering rules, callbacks, donation, the compilation cache.

A part that this version of JAX lacks is skipped, with a warning.
"""
import ctypes
import functools
import threading

from jax_hilo import PLATFORM, PLATFORM_GPU, PLATFORMS, _calls

# Rules of XLA's CPU that lower to what hilo has: LAPACK's custom calls, callbacks, and shorter programs. The others (convolutions,
# dot products) work around XLA's CPU.
_CPU_RULES = {
    "cholesky", "eig", "eigh", "geqp3", "geqrf", "hessenberg", "householder_product", "lu", "ormqr", "schur", "svd",
    "threefry2x32", "triangular_solve", "tridiagonal", "tridiagonal_solve", "debug_print", "debug_callback", "check",
}

# On a GPU StableHLO's ops, where libraries may compute them there: LAPACK is the host's.
_OPS_OF_GPUS = {"cholesky", "triangular_solve"}


def _lowering_rules():
    import jax._src.debugging  # noqa: F401: for their rules
    import jax._src.lax.linalg  # noqa: F401
    from jax._src.interpreters import mlir

    for primitive, rule in list(mlir._platform_specific_lowerings["cpu"].items()):
        if primitive.name in _CPU_RULES:
            for platform in PLATFORMS:
                if platform != PLATFORM_GPU or primitive.name not in _OPS_OF_GPUS:
                    mlir._platform_specific_lowerings[platform].setdefault(primitive, rule)


def _window_sizes(operand, updates, dnums):
    """Of the dimensions of the operand that indices name."""
    kept = [d for d in range(operand.ndim) if d not in dnums.inserted_window_dims and d not in dnums.operand_batching_dims]
    sizes = dict(zip(kept, (updates.shape[d] for d in dnums.update_window_dims)))
    return [sizes.get(d, 1) for d in dnums.scatter_dims_to_operand_dims]


def _whole_windows(operand, indices, updates, *, dnums):
    """The indices, but for windows that are partly outside of the operand, which become entirely so: XLA leaves such windows
    out, StableHLO's specification the elements that are outside."""
    import numpy as np
    from jax import lax
    from jax._src.lax import slicing

    if np.iinfo(indices.dtype).max < max(operand.shape):
        indices = lax.convert_element_type(indices, np.int32)
    clamped = slicing._clamp_scatter_indices(operand, indices, updates, dnums=dnums)
    inside = lax.reduce_and(lax.eq(indices, clamped), (indices.ndim - 1,))
    inside = lax.broadcast_in_dim(inside, indices.shape, range(indices.ndim - 1))
    return lax.select(inside, indices, lax.full_like(indices, max(operand.shape)))


def _scatters():
    from jax._src.interpreters import mlir
    from jax._src.lax import slicing

    original = slicing._scatter_lower

    def rule(ctx, operand, indices, updates, *, dimension_numbers, mode, **rest):
        to, _, part = ctx.avals_in
        known = all(isinstance(n, int) for aval in ctx.avals_in for n in aval.shape)
        if known and mode != slicing.GatherScatterMode.CLIP and any(
                n > 1 for n in _window_sizes(to, part, dimension_numbers)):
            whole = mlir.lower_fun(_whole_windows, multiple_results=False)
            (indices,) = whole(ctx.replace(avals_out=None), operand, indices, updates, dnums=dimension_numbers)
        return original(ctx, operand, indices, updates, dimension_numbers=dimension_numbers, mode=mode, **rest)

    for name in ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"):
        for platform in PLATFORMS:
            mlir.register_lowering(getattr(slicing, name + "_p"), rule, platform=platform)


def _emit(original, ctx, callback, token, operands, operand_avals, result_avals, *, has_side_effect, returns_token=True,
          partitioned=False, sharding=None):
    import dataclasses

    import numpy as np
    from jax._src import core, dtypes, ffi
    from jax._src.interpreters import mlir
    from jax._src.sharding_impls import SdyArray, SdyArrayList

    if tuple(ctx.module_context.platforms) not in ((platform,) for platform in PLATFORMS):
        return original(ctx, callback, token, operands, operand_avals, result_avals, has_side_effect=has_side_effect,
                        returns_token=returns_token, partitioned=partitioned, sharding=sharding)

    def checked(*arguments):
        values = tuple(dtypes.canonicalize_value(np.asarray(v)) for v in callback(*arguments))
        if len(values) != len(result_avals):
            raise RuntimeError("Mismatched number of outputs from callback. "
                               f"Expected: {len(result_avals)}, Actual: {len(values)}")
        for i, (value, aval) in enumerate(zip(values, result_avals)):
            if value.shape != aval.shape:
                raise RuntimeError(f"Incorrect output shape for return value #{i}: "
                                   f"Expected: {aval.shape}, Actual: {value.shape}")
            if value.dtype != aval.dtype:
                raise RuntimeError(f"Incorrect output dtype for return value #{i}: "
                                   f"Expected: {aval.dtype}, Actual: {value.dtype}")
        return values

    if token:
        operands = [token, *operands]
        if isinstance(sharding, SdyArrayList) and ctx.avals_out:
            only = SdyArray(mesh_shape=(), dim_shardings=(), logical_device_ids=sharding.shardings[0].logical_device_ids)
            sharding = SdyArrayList((only, *sharding.shardings))
        ctx = dataclasses.replace(ctx, avals_in=[core.abstract_token, *ctx.avals_in],
                                  avals_out=[core.abstract_token, *ctx.avals_out])
    index = _calls.add(checked)
    # The number means something in this process alone: JAX does not cache programs with host callbacks.
    ctx.module_context.add_host_callback(checked)
    ctx.module_context.add_keepalive(_Registration(index))
    result = ffi.build_ffi_lowering_function(_calls.CALLBACK, has_side_effect=has_side_effect)(
        ctx, *operands, index=np.uint64(index))
    result.operation.attributes["hilo.of_process"] = mlir.ir.UnitAttr.get()  # its index: other processes may have another one
    if partitioned:
        result.operation.attributes["hilo.on_shards"] = mlir.ir.UnitAttr.get()
    if sharding is not None:
        mlir.set_sharding(ctx.module_context, result, sharding)
    results = result.results
    if token:
        token, *results = results
    return results, token, checked


class _Registration:
    """Keeps a callback as long as a program may call it."""

    def __init__(self, index):
        self.index = index

    def __del__(self, retire=_calls.retire):  # at the interpreter's end there is no module any more
        retire(self.index)


class _Backends:
    """A view of the backends for modules that want a CPU device: without XLA's CPU, hilo's device holds the arguments of callbacks and
    the numpy arrays of scans."""

    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)

    def local_devices(self, process_index=None, backend=None, host_id=None):
        known = self._real.backends()
        if backend == "cpu" and "cpu" not in known:
            backend = PLATFORM if PLATFORM in known else PLATFORMS[-1]
        return self._real.local_devices(process_index, backend, host_id)


def _callbacks():
    from jax._src import callback, debugging
    from jax._src.lax.control_flow import loops

    original = callback.emit_python_callback
    callback.emit_python_callback = functools.partial(_emit, original)
    for module in (callback, debugging, loops):
        if hasattr(module, "xla_bridge"):
            module.xla_bridge = _Backends(module.xla_bridge)
        if hasattr(module, "xb"):
            module.xb = _Backends(module.xb)


def _buffer_callbacks():
    import numpy as np
    from jax._src import buffer_callback, ffi, tree_util, util
    from jax._src.interpreters import mlir

    def rule(ctx, *operands, callback, in_tree, out_tree, has_side_effect, input_output_aliases, **_):
        def function(context, *buffers):
            inputs, outputs = util.split_list(buffers, [in_tree.num_leaves])
            arguments, named = tree_util.tree_unflatten(in_tree, inputs)
            if callback(context, tree_util.tree_unflatten(out_tree, outputs), *arguments, **named) is not None:
                raise ValueError("buffer_callback callback must not return any values.")

        index = _calls.add(_calls.BufferFunction(function, buffer_callback.ExecutionStage.EXECUTE))
        ctx.module_context.add_host_callback(function)
        ctx.module_context.add_keepalive(_Registration(index))
        call = ffi.ffi_lowering(_calls.CALLBACK, has_side_effect=has_side_effect,
                                operand_output_aliases=dict(input_output_aliases))
        return call(ctx, *operands, index=np.uint64(index))

    for platform in PLATFORMS:
        mlir.register_lowering(buffer_callback.buffer_callback_p, rule, platform=platform)


def _donation():
    from jax._src.interpreters import mlir

    for platform in PLATFORMS:
        if platform not in mlir._platforms_with_donation:
            mlir._platforms_with_donation.append(platform)


def _cache():
    from jax._src import compilation_cache

    original = compilation_cache.is_cache_used

    class AsCpu:
        """A backend under a name that the cache accepts; only its name and whether it can serialise are read."""
        platform = "cpu"
        supports_executable_serialization = True

    @functools.wraps(original)
    def is_cache_used(backend):
        return original(AsCpu() if backend.platform in PLATFORMS else backend)

    compilation_cache.is_cache_used = is_cache_used


def _dlpack():
    from jax_hilo import _dlpack

    _dlpack.register()


class _State(ctypes.Structure):
    """Read by the plugin: struct pjrt_framework of src/pjrt/pjrt.h."""

    _fields_ = [("host_guarded", ctypes.c_int64), ("compiling", ctypes.c_int64)]


state = _State()


def _transfer_guards():
    """jaxlib checks jax_transfer_guard_device_to_host where it copies. numpy arrays of hilo's share memory, unless the plugin knows of
    a guard."""
    from jax._src import config
    from jax._src.lib import guard_lib

    original, guarded = config._update_transfer_guard, set()

    @functools.wraps(original)
    def update(which, key, level):
        original(which, key, level)
        if key == "device_to_host":
            where = "global" if which is guard_lib.global_state() else threading.get_ident()
            (guarded.discard if level in (None, "allow") else guarded.add)(where)
            state.host_guarded = len(guarded)

    config._update_transfer_guard = update


def _compiling():
    """JAX requests the program of all that it compiles, for its shardings: the plugin need not make the optimised one then."""
    from jax._src.interpreters import pxla

    original, lock = pxla.UnloadedMeshExecutable.from_hlo, threading.Lock()

    def count(n):
        with lock:
            state.compiling += n

    @functools.wraps(original)
    def from_hlo(*arguments, **named):
        count(1)
        try:
            return original(*arguments, **named)
        finally:
            count(-1)

    pxla.UnloadedMeshExecutable.from_hlo = staticmethod(from_hlo)


def register():
    for part in (_lowering_rules, _scatters, _callbacks, _buffer_callbacks, _donation, _cache, _dlpack, _transfer_guards, _compiling):
        try:
            part()
        except (AttributeError, ImportError, KeyError) as error:
            import warnings

            warnings.warn(f"jax_hilo: {part.__name__.strip('_')} is not available in this version of JAX: {error}")
