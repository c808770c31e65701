# make build | demo | test | test-scenarios | bench | install PREFIX=… | format | check | asan | tsan | debug | clean | score
PREFIX ?= /usr/local
# Warnings are errors here, on the compiler we test with; `make WERROR=OFF` for another one.
WERROR ?= ON
JOBS ?= $(shell nproc)

.PHONY: build demo test test-scenarios bench install format check asan tsan debug clean deps score

build:
	@cmake --preset release -DISOCHRON_WERROR=$(WERROR)
	@cmake --build --preset release -j $(JOBS) --target isochron isochron_cli

deps:
	@tools/install_deps.sh

demo: deps build
	@build/bin/isochron demo

test: deps build
	@cmake --build --preset release -j $(JOBS)
	@ctest --preset release -j $(JOBS)

# Programs with one fault each, live under `isochron watch`; some minutes.
test-scenarios: deps build
	@python3 tests/scenarios/run.py --isochron build/bin/isochron

# How often the doctor is right about the labelled runs.
score: deps build
	@python3 tests/runs/score.py build/bin/isochron

bench: deps build
	@python3 bench/run.py
	@python3 bench/pipelines.py

install: build
	@cmake --install build --prefix $(PREFIX)

format:
	@tools/check_format.sh --fix

check:
	@tools/check_format.sh
	@tools/check_layers.py

# Unit tests under sanitizers; the first error ends a test. Slower, so not part of `make test`.
asan tsan debug: deps
	@cmake --preset $@ -DISOCHRON_WERROR=$(WERROR)
	@cmake --build --preset $@ -j $(JOBS)
	@ctest --preset $@ -j $(JOBS)

clean:
	@rm -rf build build-debug build-asan build-tsan
