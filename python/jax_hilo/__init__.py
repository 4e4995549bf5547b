"""hilo as a JAX backend (PJRT plugin): `JAX_PLATFORMS=hilo`.

JAX imports this module (entry point `jax_plugins`) and calls initialize() before it looks for devices, whichever platform is
selected: so nothing heavy happens here.
"""
import ctypes
import os
import pathlib

PLATFORM = "hilo"


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
    xla_bridge._nonexperimental_plugins.add(PLATFORM)
    from jax_hilo import _calls, _rules

    options = {"framework_state": ctypes.addressof(_rules.state)}
    xla_bridge.register_plugin(PLATFORM, priority=500, library_path=path, options=options)
    _calls.register_handlers(path)
    _rules.register()
