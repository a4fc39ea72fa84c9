# The front door of Lethe: short names for the work that CMake, CTest and the scripts in tools/
# do. Each target first has tools/setup.sh install what it needs and this machine lacks.
# `make help` lists the targets; HACKING.md says how the build is put together.

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS ?= 60
ARGS ?=

export JOBS DESTDIR

all:
	@tools/setup.sh run
	@tools/build.sh release product

run: all
	@tools/run.sh

test:
	@tools/setup.sh test
	@tools/test.sh day

test-all:
	@tools/setup.sh test
	@tools/test.sh all

test-long:
	@tools/setup.sh test
	@tools/setup.sh deb
	@tools/test.sh long

test-valkey:
	@tools/setup.sh test
	@tools/build.sh release product
	@cmake --build build/release --target lethe_commands
	@tools/valkey.sh

bench:
	@tools/setup.sh bench
	@tools/build.sh release product
	@build/release/lethe-bench $(ARGS)

fuzz:
	@tools/setup.sh test
	@tools/build.sh fuzz all
	@tools/fuzz.sh $(SECONDS)

simulate:
	@tools/setup.sh test
	@tools/build.sh release all
	@tools/simulate.sh $(SECONDS)

lint:
	@tools/setup.sh lint
	@tools/lint.sh

format:
	@tools/setup.sh lint
	@tools/lint.sh format

commands:
	@tools/setup.sh run
	@tools/build.sh release product
	@cmake --build build/release --target lethe_commands
	@tools/command_pages.py

docs:
	@tools/setup.sh docs
	@tools/build.sh release product
	@cmake --build build/release --target lethe_python >build/release/python.log 2>&1 || true
	@tools/docs.sh

speed:
	@tools/setup.sh bench
	@tools/build.sh release product
	@tools/speed.py measure $(ARGS)
	@tools/tables.py

# What the targets of performance are compared with, except counting: some minutes on an idle machine.
results:
	@tools/setup.sh bench
	@tools/build.sh release product
	@tools/speed.py keep open dedup window-design window-growth sketch bloom count-memory $(ARGS)
	@tools/speed.py keep --runs 1 --full sketch-words
	@tools/speed.py keep --runs 1 --full count-scale
	@tools/speed.py keep --runs 1 window count-exact-scale
	@tools/tables.py

# The system finds shared libraries in /usr/local/lib once ldconfig has seen them.
install: all
	cmake --install build/release --prefix "$(PREFIX)"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ] && command -v ldconfig >/dev/null; then ldconfig; fi

deb:
	@tools/setup.sh deb
	@tools/deb.sh

deb-test: deb
	@tools/deb_test.sh

clean:
	rm -rf build

help:
	@echo "make                   build the libraries and the lethe program into build/release"
	@echo "make run               build, and show Lethe at work on a generated stream"
	@echo "make test              build the release and run the daily tests, in a few minutes"
	@echo "make test-all          the rest: larger sizes, sanitizers, fuzzed inputs, clang, mutants"
	@echo "make test-long         the slowest tests: three quarters of an hour on two idle cores"
	@echo "make test-valkey       the module's tests in a Valkey server, fetched from Debian's backports"
	@echo "make bench             run the benchmarks; ARGS='--json bloom' passes options to them"
	@echo "make fuzz SECONDS=60   fuzz, each target for that long"
	@echo "make simulate SECONDS=60   simulate stores and once-tables on new seeds, for that long in total"
	@echo "make lint              check format, warnings, scripts, man pages, text files and links"
	@echo "make format            format the C files"
	@echo "make docs              build the documentation, with a search: build/docs/html/index.html"
	@echo "make speed             measure counting beside its peers, draw docs/speed.svg and write the tables of docs/performance.md; needs an idle machine"
	@echo "make results           measure the other workloads, and keep their figures in bench/results"
	@echo "make install           install below PREFIX ($(PREFIX)), staged in DESTDIR if set"
	@echo "make deb               build Debian packages into build/deb, and check them with lintian"
	@echo "make deb-test          as root: try these packages in a bare Debian 12"
	@echo "make clean             remove build/"
	@echo "JOBS=n sets how much runs at once (default: the number of CPUs, here $(JOBS))"

.PHONY: all run test test-all test-long test-valkey bench fuzz simulate lint format commands docs speed results install deb deb-test clean help
