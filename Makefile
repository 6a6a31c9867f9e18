# Everything here starts from a bare clone: Python 3.11 or later and make are enough.
#
#   make demo    a first look: checks, lists and shows real sessions, records one
#   make test    the whole test suite
#   make check   lint, format, types, tests: what must pass before a commit
#   make docs    refreshes the help texts in docs/cli.md
#   make replay RECORDINGS=DIR   measures an importer on recordings
#   make clean   removes the environment and everything that was built

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test check docs replay clean

# A particular interpreter: make demo PYTHON=/path/to/python3.12
PYTHON ?=
CANDIDATES := $(or $(PYTHON),python3.11 python3.12 python3.13 python3.14 python3 python)
VENV := .venv
PY := $(VENV)/bin/python
AGENTSESSION := $(PY) -m agentsession
PIP := $(PY) -m pip --disable-pip-version-check --quiet
WORKERS := 2

# Stamps stand inside the environment, so they go with it. A newer pyproject.toml
# makes them stale.
DEMO_READY := $(VENV)/.ready-demo
DEV_READY := $(VENV)/.ready-dev

help:
	@sed -n 's/^#   //p' Makefile

demo: $(DEMO_READY)
	@$(PY) examples/demo.py

test: $(DEV_READY)
	@$(PY) -m pytest -n $(WORKERS)

check: $(DEV_READY)
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(PY) -m pytest -n $(WORKERS)

# Help texts of docs/cli.md, which a test compares with the command.
docs: $(DEV_READY)
	@$(PY) docs/help_texts.py

# How faithfully an importer converts recordings: make replay RECORDINGS=DIR
# (AGENT=pi, where a recording holds the data of several agents)
replay: $(DEMO_READY)
	@test -n "$(RECORDINGS)" || { echo "name the recordings: make replay RECORDINGS=DIR" >&2; exit 2; }
	@$(PY) -m agentsession.importers.replay "$(RECORDINGS)" $(if $(AGENT),--agent $(AGENT)) --json

clean:
	@rm -rf $(VENV) build dist demo-out src/*.egg-info
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# A name on PATH is no proof (version managers put shims there): each is run. One
# without ensurepip could not make an environment.
$(PY):
	@found=; \
	for candidate in $(CANDIDATES); do \
	  if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	      >/dev/null 2>&1; then found=$$candidate; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "error: none of these is Python 3.11 or later with venv: $(CANDIDATES);" >&2; \
	  echo "install one, or name it: make PYTHON=/path/to/python3.11 <target>" >&2; \
	  exit 1; \
	fi; \
	echo "setting up $(VENV) with $$("$$found" --version)"; \
	"$$found" -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }

$(DEMO_READY): pyproject.toml | $(PY)
	@echo "installing agentsession"
	@$(PIP) install --editable '.[agent]'
	@touch $@

# The dev extra holds all the demo needs.
$(DEV_READY): pyproject.toml | $(PY)
	@echo "installing agentsession and its development tools"
	@$(PIP) install --editable '.[dev]'
	@touch $(DEMO_READY) $@
