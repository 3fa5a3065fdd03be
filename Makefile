# For people: each target installs what is missing, then calls CMake (CMakePresets.json has the real settings).

PREFIX ?= /usr/local
DATA ?= ../shared/data

.PHONY: all demo test test-asan test-data test-aarch64 bench install clean help setup

all: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release

demo: all
	@tools/demo.sh

test: all
	@ctest --preset release -j 2

test-asan: setup
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan
	@ctest --preset asan -j 2

test-data: all
	@tests/data/run.sh $(DATA)

test-aarch64:
	@tools/setup.sh cross
	@tools/test-aarch64.sh

bench: setup-bench all
	@cmake --build --preset release --target bench
	@bench/run.sh $(DATA)

install: all
	@cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-dev build-asan build-tsan build-aarch64 demo-out

setup:
	@tools/setup.sh

.PHONY: setup-bench
setup-bench:
	@tools/setup.sh bench

help:
	@echo "make            build the library and the program: build/inmo"
	@echo "make demo       a tour in demo-out/: a log, three models, their scores, recommendations with reasons"
	@echo "make test       all tests that need no data"
	@echo "make test-asan  the same with the address and undefined-behaviour sanitizers, in build-asan/"
	@echo "make test-data  tests on real data sets, skipped where DATA=$(DATA) does not have them"
	@echo "make test-aarch64  the tests on 64-bit ARM: cross-compiled, run by qemu (installs both)"
	@echo "make bench      speed beside PyTorch, GraphBLAS, librsb and faiss (installs them)"
	@echo "make install    to PREFIX=$(PREFIX); DESTDIR is honoured"
	@echo "make clean      remove everything that was built"

