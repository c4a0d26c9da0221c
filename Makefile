# The front door. Everything else is CMake's: see CMakePresets.json.

PREFIX ?= /usr/local

.PHONY: demo test install format tidy clean packages-build packages-test

# Two real processes, TCP and shared memory on the same work.
demo: build/release/build.ninja
	cmake --build --preset release --target smc-demo
	build/release/bench/smc-demo

test: packages-test
	cmake --preset release -DSMC_BUILD_TESTS=ON
	cmake --build --preset release
	ctest --preset release

# To PREFIX (below DESTDIR, if set).
install: build/release/build.ninja
	cmake --build --preset release --target asio-smc smcperf
	cmake --install build/release --prefix $(PREFIX)

# Without the tests, which need more packages.
build/release/build.ninja: | packages-build
	cmake --preset release -DSMC_BUILD_TESTS=OFF

packages-build:
	@third_party/install-packages build

packages-test: packages-build
	@third_party/install-packages test

sources = $(shell git ls-files -co --exclude-standard '*.cpp' '*.hpp')

format:
	clang-format -i $(sources)

tidy:
	cmake --preset tidy
	run-clang-tidy -quiet -p build/tidy '/(framework|transports|bench|examples)/.*\.cpp$$'

clean:
	rm -rf build
