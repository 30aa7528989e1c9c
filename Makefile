# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT

PYTHON ?= python3
VENV ?= .venv
# Further arguments of `pip install`, e.g. --extra-index-url https://download.pytorch.org/whl/cpu
PIP_ARGS ?=
# Which torch and Triton, where constraints.txt leaves a choice, e.g. TRITON=triton==3.6.0
TORCH ?= torch
TRITON ?= triton
# How many tests run at a time
JOBS ?= 2
# For test-pythons: interpreters to look for, what to install, what to test
PYTHONS ?= python3.10 python3.12 python3.13
RUNTIME = $(wildcard src/intelliperf_swizzle/frontends/cpp/runtime/*.h \
  src/intelliperf_swizzle/frontends/cpp/runtime/*.cpp)
PURE_NEEDS := hatchling hypothesis jinja2 jsonschema numba numpy pytest pyyaml rich
PURE_TESTS := tests/adversarial/test_published_swizzles.py \
  $(addprefix tests/,cache hardware history mapping patterns rank) \
  tests/language/test_parse.py tests/language/test_evaluate.py

BIN := $(abspath $(VENV))/bin
USABLE := $(VENV)/.usable
INSTALLED := $(VENV)/.installed
# The tests of a file share what they set up, so one process runs them.
BY_FILE := --dist loadfile --no-loadscope-reorder
INSTALL := -m pip install --disable-pip-version-check $(PIP_ARGS) -c constraints.txt
# Tests start a thousand processes: what one has compiled, the next need not.
unexport PYTHONDONTWRITEBYTECODE
# pip knows dependency groups since 25.1.
PIP := pip>=25.1

.PHONY: help install demo test test-all lint lint-cpp docs bench figures audit search-quality campaign kills test-pythons clean

help:
	@echo 'make demo            set up $(VENV) as a user would, then find a swizzle for benchmarks/kernels/gemm.py'
	@echo 'make test            set up $(VENV), then run the tests that take no more than seconds'
	@echo 'make test-all        the long tests, too'
	@echo 'make lint            ruff, mypy and the order of imports'
	@echo 'make lint-cpp        what clang warns of in the C++ that is shipped'
	@echo 'make docs            the documentation as a site, in build/site'
	@echo 'make test-pythons    the rooms that need neither torch nor Triton, on other Pythons'
	@echo 'make bench           speed of trace and model, HipKittens Table 4, the default command'
	@echo 'make figures         the tables and figures of docs/results, and docs/audit.md; it resumes'
	@echo 'make audit           docs/audit.md alone: which published swizzles are permutations'
	@echo 'make validation      the cache model beside measured hit rates: docs/model-accuracy.md'
	@echo 'make simulators      speed of the cache model beside public simulators'
	@echo 'make search-quality  compare the default search with one a hundred times as long'
	@echo 'make kills N=200     kill so many runs at random instants; nothing may be torn or left'
	@echo 'make campaign N=20000   random applications against the gates; it resumes'
	@echo 'make install         set up $(VENV) for development and no more'
	@echo 'make clean           remove the environments and what was built'

install: $(INSTALLED)

$(USABLE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' || \
	  { echo 'error: `$(PYTHON)` is not Python 3.10 to 3.13' >&2; \
	    echo 'hint: make PYTHON=python3.12 takes another' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo 'error: `$(PYTHON)` cannot make virtual environments' >&2; \
	    echo 'hint: on Debian, apt install python3-venv' >&2; exit 1; }
	@echo 'Setting up $(VENV); torch and Triton take some minutes and 2 GB, once'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(INSTALL) '$(PIP)' '$(TORCH)' '$(TRITON)' -e .
	@touch $@

$(INSTALLED): $(USABLE)
	$(BIN)/python $(INSTALL) -e . --group test --group lint --group docs
	@touch $@

demo: $(USABLE)
	PATH="$(BIN):$$PATH" intelliperf-swizzle -- python benchmarks/kernels/gemm.py

test: install
	$(BIN)/python -m pytest -n $(JOBS) $(BY_FILE) -m 'not long'

test-all: install
	$(BIN)/python -m pytest -n $(JOBS) $(BY_FILE)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy benchmarks/*.py benchmarks/harness benchmarks/model_truth benchmarks/accuracy
	$(BIN)/lint-imports
	@if command -v clang-format-22 > /dev/null; then clang-format-22 --dry-run --Werror $(RUNTIME); \
	  else echo 'clang-format-22 is not here: the C++ is not checked'; fi
	$(BIN)/python .ci/lines.py

# What compilers warn of in the C++ that is shipped, with the headers that Triton brings.
WARN = clang++-22 -std=gnu++17 -fsyntax-only -Wall -Wextra -Wno-unused-parameter -Werror
lint-cpp: install
	@if command -v clang++-22 > /dev/null; then set -e; \
	  cd $(dir $(firstword $(RUNTIME))); \
	  for how in -DFOR_CUDA -DFOR_HIP; do $(WARN) $$how trial_shim.cpp; done; \
	  headers=$$($(BIN)/python -c 'from importlib.util import find_spec as find; print(find("triton").submodule_search_locations[0])')/backends; \
	  $(WARN) -D__HIP_PLATFORM_AMD__ -isystem $$headers/amd/include hip.cpp; \
	  $(WARN) -isystem $$headers/nvidia/include cuda.cpp; \
	  else echo 'clang++-22 is not here: the C++ is not checked for what it warns of'; fi

docs: install
	$(BIN)/mkdocs build --strict

bench: install
	$(BIN)/python benchmarks/trace_speed.py
	$(BIN)/python benchmarks/replay_speed.py
	$(BIN)/python benchmarks/hipkittens_table4.py
	$(BIN)/python benchmarks/default_run.py

FIGURES ?=

figures: install
	$(BIN)/python benchmarks/figures.py $(FIGURES)
	$(BIN)/python benchmarks/ages.py

audit: install
	$(BIN)/python benchmarks/audit.py $(FIGURES)

validation: install
	$(BIN)/python benchmarks/model_accuracy.py

simulators: install
	$(BIN)/python $(INSTALL) --group simulators
	$(BIN)/python benchmarks/simulators.py

search-quality: install
	$(BIN)/python benchmarks/search_quality.py

# How many runs are killed, or how many pairs of application and swizzle; KIND=whole takes them
# through the whole command, KIND=hip is of HIP programs
N ?=
KIND ?= triton

kills: install
	$(BIN)/python tests/adversarial/kills.py $(or $(N),200)

campaign: install
	cd benchmarks && $(BIN)/python -m hunt.campaign --pairs $(or $(N),20000) \
	  $(and $(SEED),--first_seed $(SEED)) --kind $(KIND) --record $(CURDIR)/build/hunt-$(KIND)/record.jsonl

test-pythons:
	@for python in $(PYTHONS); do \
	  "$$python" -c '' 2>/dev/null || { echo "$$python: not here"; continue; }; \
	  venv=.venv-pure-$${python##*/}; \
	  "$$python" -m venv $$venv && \
	  $$venv/bin/python $(INSTALL) -q $(PURE_NEEDS) && \
	  $$venv/bin/python $(INSTALL) -q --no-deps --no-build-isolation -e . && \
	  $$venv/bin/python -m pytest $(PURE_TESTS) || exit 1; \
	done

clean:
	rm -rf .venv .venv-* build dist swizzle-out
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
