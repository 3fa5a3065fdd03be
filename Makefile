# For people: each target installs what is missing, then calls CMake (CMakePresets.json has the real settings).

PREFIX ?= /usr/local
DATA ?= ../shared/data
# How many tests run at once, and how long each fuzz target does.
JOBS ?= $(shell nproc)
SECONDS ?= 60
# How often make torture kills the server.
KILLS ?= 50

SERVE_PORT ?= 8088

.PHONY: mpi test-mpi all demo serve python deb test test-slow test-asan test-tsan test-data test-aarch64 test-deb soak torture fuzz coverage bench install clean help setup

all: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release

# What people try first needs no tests built.
.PHONY: program
program: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target inmo

demo: program
	@tools/demo.sh

serve: program
	@tools/serve.sh $(SERVE_PORT)

python: setup
	@tools/python.sh

deb:
	@tools/setup.sh deb
	@tools/deb.sh

mpi:
	@tools/setup.sh mpi
	@cmake --preset mpi >/dev/null
	@cmake --build --preset mpi --target inmo

test-mpi: program mpi
	@tests/mpi/run.sh build-mpi/inmo build/inmo

test: all
	@ctest --preset release -j $(JOBS)

test-slow: test
	@/usr/bin/python3 tests/alloc/walk.py build/inmo build/tests/libfailing.so --every

test-asan: setup
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan
	@ctest --preset asan -j $(JOBS)

test-tsan: setup-clang
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan
	@ctest --preset tsan -j $(JOBS)

test-data: all
	@tests/data/run.sh $(DATA)

test-aarch64:
	@tools/setup.sh cross
	@tools/test-aarch64.sh

test-deb:
	@tools/setup.sh deb
	@tests/check_deb.sh

soak: SECONDS = 3600
soak: all
	@/usr/bin/python3 -B tests/server/soak.py build/inmo $(SECONDS)

torture: all
	@INMO_TORTURE=$(KILLS) INMO_PROGRAM=$(CURDIR)/build/inmo /usr/bin/python3 -B -m pytest -q -p no:cacheprovider -k kill_9 tests/server/test_faults.py

fuzz: setup-clang
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz
	@fuzz/run.sh $(SECONDS)

coverage:
	@tools/setup.sh coverage
	@cmake --preset coverage >/dev/null
	@cmake --build --preset coverage
	@find build-coverage -name '*.gcda' -delete
	@ctest --preset coverage -j $(JOBS) | tail -n 5
	@gcovr --root . --filter src/ --filter cli/ --filter lab/ --filter limit/ --exclude-throw-branches \
	    --exclude-directories '.*inmo_kernel_avx512.*' --exclude-directories '.*build-coverage/(fuzz|tests|bench).*' \
	    --txt build-coverage/coverage.txt --html-details build-coverage/coverage.html --print-summary build-coverage
	@echo "each file: build-coverage/coverage.txt; each line: build-coverage/coverage.html"

bench: setup-bench all
	@cmake --build --preset release --target bench
	@bench/run.sh $(DATA)

install: all
	@cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-mpi build-dev build-asan build-tsan build-fuzz build-coverage build-aarch64 build-wheel build-deb dist demo-out serve-out

setup:
	@tools/setup.sh

.PHONY: setup-bench setup-clang
setup-bench:
	@tools/setup.sh bench

setup-clang:
	@tools/setup.sh clang

help:
	@echo "make            build the library and the program: build/inmo"
	@echo "make demo       a tour in demo-out/: a log, three models, their scores, recommendations with reasons"
	@echo "make serve      the live service with the demo's log, at http://127.0.0.1:8088 (SERVE_PORT)"
	@echo "make python     the Python package: a source distribution and a wheel, in dist/"
	@echo "make deb        Debian packages of the program, the library and its header, in build-deb/ (installs debhelper)"
	@echo "make mpi        the program for several machines: build-mpi/inmo (installs Open MPI); see docs/cluster.md"
	@echo "make test-mpi   its tests: the same model files on 1 to 4 ranks, ranks that are killed, and more"
	@echo "make test       all tests that need no data"
	@echo "make test-slow  the same, and every command with each of its allocations refused in turn (half an hour)"
	@echo "make test-asan  the tests with the address and undefined-behaviour sanitizers, in build-asan/"
	@echo "make test-tsan  the tests with the thread sanitizer, in build-tsan/ (installs clang)"
	@echo "make test-data  tests on real data sets, skipped where DATA=$(DATA) does not have them"
	@echo "make test-aarch64  the tests on 64-bit ARM: cross-compiled, run by qemu (installs both)"
	@echo "make test-deb   the packages built, looked at by lintian, installed, used, removed and purged (root)"
	@echo "make soak       a mixed load on a server for an hour, SECONDS=... for another time: no wrong answer, flat memory"
	@echo "make torture    kill -9 of a server that is written to, KILLS=$(KILLS) times: no acknowledged event is lost"
	@echo "make fuzz       everything that is read from outside, with changed bytes, SECONDS=$(SECONDS) each (installs clang)"
	@echo "make coverage   which lines and branches the tests reach (installs gcovr)"
	@echo "make bench      speed beside PyTorch, GraphBLAS, librsb and faiss (installs them)"
	@echo "make install    to PREFIX=$(PREFIX); DESTDIR is honoured"
	@echo "make clean      remove everything that was built"

