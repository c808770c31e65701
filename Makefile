# make build | demo | test | test-scenarios | test-frameworks | test-pages | test-kills | test-avx512 | fuzz | bench | install PREFIX=… | format | check | asan | tsan | debug | clean | score
PREFIX ?= /usr/local
# Warnings are errors here, on the compiler we test with; `make WERROR=OFF` for another one.
WERROR ?= ON
JOBS ?= $(shell nproc)

.PHONY: build demo test test-scenarios test-frameworks test-pages test-kills test-avx512 fuzz bench install format check asan tsan debug clean deps score

build: deps
	@cmake --preset release -DISOCHRON_WERROR=$(WERROR)
	@cmake --build --preset release -j $(JOBS) --target isochron isochron_cli

deps:
	@tools/install_deps.sh

demo: build
	@build/bin/isochron demo

test: build
	@cmake --build --preset release -j $(JOBS)
	@ctest --preset release -j $(JOBS)

# Programs with one fault each, live under `isochron watch`; some minutes.
test-scenarios: build
	@python3 tests/scenarios/run.py --isochron build/bin/isochron

# Real TensorFlow and PyTorch programs, and the labelled runs again, live under `isochron watch`; half an hour. The first
# time installs the frameworks into bench/.venv (some gigabytes).
FRAMEWORKS = $(CURDIR)/bench/.venv/bin/python
test-frameworks: build
	@cd bench && python3 -c "import contestants; contestants.install_peers(print)"
	@$(FRAMEWORKS) -m pip install --quiet -r tests/scenarios/requirements.txt
	@cmake --build --preset release -j $(JOBS) --target example_tensorboard_logs
	@$(FRAMEWORKS) tests/train/tensorboard_reads.py build/bin/example_tensorboard_logs
	@python3 tests/scenarios/run.py --isochron build/bin/isochron --frameworks $(FRAMEWORKS)
	@python3 tests/runs/live.py build/bin/isochron --python $(FRAMEWORKS)

# The HTML report and the live page in a browser (chromium), in light, dark and on a narrow screen.
test-pages: build
	@python3 tests/report/pages_test.py build/bin/isochron

# A training killed 300 times in the middle of its saves, and full, read-only and damaged disks; some minutes.
test-kills: build
	@cmake --build --preset release -j $(JOBS) --target kill_target
	@python3 tests/checkpoint/faults.py build/tests/kill_target build/bin/isochron --kills 300

# The kernels on an emulated CPU with AVX-512, for machines without; half an hour.
test-avx512: build
	@cmake --build --preset release -j $(JOBS)
	@tools/test_avx512.sh build

# Readers of runs and formats of data under libFuzzer for a minute each; needs clang.
fuzz: build
	@cmake -DSOURCE=$(CURDIR)/tests/fuzz/readers -DBUILD=$(CURDIR)/build/fuzz -DCLANG=clang++ -DNINJA=ninja -P tests/fuzz/build.cmake
	@for reader in console kineto xplane tfevents table wrapped document record csv example tfrecord npy npz idx image hdf5 safetensors manifest; do mkdir -p build/fuzz/found/$$reader; \
	  build/fuzz/fuzz_$$reader -max_total_time=60 -timeout=20 -artifact_prefix=build/fuzz/ build/fuzz/found/$$reader \
	  $$(ls -d tests/fuzz/corpus/$$reader tests/references/$$reader tests/references/$${reader}s 2> /dev/null) || exit 1; done

# How often the doctor is right about the labelled runs.
score: build
	@python3 tests/runs/score.py build/bin/isochron

bench: build
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
