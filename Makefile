# A front for CMake: presets in CMakePresets.json, options in CMakeLists.txt.
PREFIX ?= /usr/local

all: build/.setup-build ; @scripts/build.sh release
demo: all ; @HILO=build/hilo examples/digits/demo.sh
test: build/.setup-test ; @scripts/run-tests.sh
test-long: build/.setup-test ; @scripts/run-tests.sh --long
torture: build/.setup-test ; @scripts/run-tests.sh --torture
test-jax: all ; @scripts/test-jax.sh $(JAX)
install: all
	cmake --install build --strip --prefix $(PREFIX)
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true
clean: ; rm -rf build
build/.setup-%: scripts/setup.sh tests/jax/requirements.txt ; @scripts/setup.sh $* && mkdir -p build && touch $@
.PHONY: all demo test test-long torture test-jax install clean
