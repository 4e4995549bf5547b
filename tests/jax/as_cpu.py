"""A plugin of pytest: JAX's tests take hilo for the CPU. Tests that ask which device they run on, and skip on those that they do not
know, run as on XLA's CPU; what is CPU's by its nature (an error message of its thunks, say) is in known_failures.txt."""


def pytest_configure(config):
    import jax
    from jax._src import test_util  # noqa: F401: it defines the flag

    jax.config.update("jax_test_dut", "cpu")
