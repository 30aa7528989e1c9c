# SPDX-FileCopyrightText: 2026 the intelliperf-swizzle authors
# SPDX-License-Identifier: MIT

PYTHON ?= python3
VENV ?= .venv
# Further arguments of `pip install`, e.g. --extra-index-url https://download.pytorch.org/whl/cpu
PIP_ARGS ?=
# Another torch or Triton than constraints.txt would choose, e.g. TRITON=triton==3.6.0
TORCH ?= torch
TRITON ?= triton
JOBS ?= 2
PYTHONS ?= python3.10 python3.12 python3.13

BIN := $(abspath $(VENV))/bin
INSTALLED := $(VENV)/.installed

.PHONY: help install demo test lint bench search-quality test-pythons clean

help:
	@echo 'make demo            set up $(VENV), then find a swizzle for benchmarks/kernels/gemm.py'
	@echo 'make test            set up $(VENV), then run the test suite'
	@echo 'make lint            ruff, mypy and the order of imports'
	@echo 'make test-pythons    what needs neither torch nor Triton, on: $(PYTHONS)'
	@echo 'make install         set up $(VENV) and no more'
	@echo 'make clean           remove $(VENV) and what was built'

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' || \
	  { echo 'error: `$(PYTHON)` is not Python 3.10 to 3.13 (make PYTHON=python3.12 takes another)' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo 'error: `$(PYTHON)` cannot make virtual environments; on Debian: apt install python3-venv' >&2; exit 1; }
	@echo 'Setting up $(VENV): torch and Triton are some 2 GB, once'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check $(PIP_ARGS) -c constraints.txt \
	  '$(TORCH)' '$(TRITON)' -e '.[test,lint]'
	@touch $@

demo: install
	PATH="$(BIN):$$PATH" intelliperf-swizzle -- python benchmarks/kernels/gemm.py

test: install
	$(BIN)/python -m pytest -n $(JOBS)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf .venv .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -rf .hypothesis swizzle-out
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
