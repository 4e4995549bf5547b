"""hilo as a JAX backend (PJRT plugin): `JAX_PLATFORMS=hilo`, and `hilo_gpu` for the first NVIDIA GPU.

JAX imports this module (entry point `jax_plugins`) and calls initialize() before it looks for devices, whichever platform is
selected: so nothing heavy happens here.
"""
import ctypes
import functools
import os
import pathlib

PLATFORM, PLATFORM_GPU = "hilo", "hilo_gpu"
PLATFORMS = (PLATFORM, PLATFORM_GPU)  # of one plugin


def library_path():
    """The path of the plugin: $HILO_PJRT_PLUGIN, or the one of this package, next to the library in `hilo`."""
    return os.environ.get("HILO_PJRT_PLUGIN") or str(pathlib.Path(__file__).parents[1] / "hilo" / "pjrt_hilo.so")


def initialize():
    from jax._src import xla_bridge
    from jax._src.lib import xla_client

    if xla_client.pjrt_plugin_loaded(PLATFORM):
        return
    path = library_path()
    if not os.path.exists(path):
        raise RuntimeError(f"the hilo plugin is not at {path}")
    xla_bridge._nonexperimental_plugins.update(PLATFORMS)
    from jax_hilo import _calls, _rules

    options = {"framework_state": ctypes.addressof(_rules.state)}
    api = xla_bridge.register_plugin(PLATFORM, priority=500, library_path=path, options=options)
    gpu = functools.partial(xla_bridge.make_pjrt_c_api_client, PLATFORM_GPU, options={**options, "device": "gpu"})
    xla_client.load_pjrt_plugin_with_c_api(PLATFORM_GPU, api)
    xla_bridge.register_backend_factory(  # most machines have none: nothing is said then
        PLATFORM_GPU, gpu, priority=450, fail_quietly=True, c_api=api,
        make_topology=functools.partial(xla_client.make_c_api_device_topology, api, device="gpu"))
    _calls.register_handlers(path)
    _rules.register()
