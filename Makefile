# One virtual environment serves everything; the stamp file says that it is up to date.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SHELL := /bin/bash

.PHONY: demo test test-ui test-kube kube-programs check lint types layers conformance bench soak wheel sbom clean

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

# BENCH takes the options of benchmarks/bench.py, such as BENCH="--quick --check".
bench: $(VENV)/.bench-ready
	$(BIN)/python -m benchmarks.bench $(BENCH)

# Mixed traffic of both eras while backends die, the config is reloaded and clients vanish; SOAK_SECONDS=60 for a shorter one.
SOAK_SECONDS ?= 600
soak: $(VENV)/.ready
	SOAK_SECONDS=$(SOAK_SECONDS) $(BIN)/python -m tests.soak.run

$(VENV)/.bench-ready: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,bench]'
	touch $@

# The official suite against our fixture, directly and through the gateway in all pairs of eras, and its client scenarios.
conformance: $(VENV)/.ready
	$(BIN)/python -m tests.conformance.run --gateway

# PYTEST takes the arguments of pytest, such as PYTEST="tests/catalog -k prefix".
test: $(VENV)/.ready
	$(BIN)/python -m pytest $(PYTEST)

# The page of the operations port in a real browser; fails where there is none and none can be installed.
test-ui: $(VENV)/.ready
	$(BIN)/python -m tests.ui.install
	VMCP_UI=required $(BIN)/python -m pytest tests/ui $(PYTEST)

# kube-apiserver, etcd and what goes with them, built once into ~/.cache/vmcp-kube where KUBEBUILDER_ASSETS names no others.
kube-programs: $(VENV)/.ready
	$(BIN)/python -m tests.kube.binaries.build

# What speaks to Kubernetes, against a real API server; fails where there is none and none can be built.
# FULL=1: faults as long as operators see them, at the pace of production.
test-kube: kube-programs
	VMCP_KUBE=required VMCP_FAULTS=$(if $(FULL),full,short) $(BIN)/python -m pytest tests/kube tests/cluster tests/objects tests/charts $(PYTEST)

check: lint types layers test

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

layers: $(VENV)/.ready
	$(BIN)/lint-imports --no-logo

# Four MCP servers behind one URL; DEMO_EXIT=1 stops it by itself.
demo: $(VENV)/.ready
	@$(BIN)/python examples/quickstart/demo.py

# The wheel and the sdist, in dist/.
wheel: $(VENV)/.ready
	rm -f dist/vmcp-*
	$(BIN)/python -m build

# What the gateway needs at run time, as CycloneDX JSON: dist/vmcp.cdx.json.
CYCLONEDX := cyclonedx-bom==7.5.0
sbom: wheel
	rm -rf .cache/sbom && mkdir -p .cache/sbom
	$(PYTHON) -m venv .cache/sbom/tool && .cache/sbom/tool/bin/python -m pip install --quiet $(CYCLONEDX)
	$(PYTHON) -m venv --without-pip .cache/sbom/runtime
	.cache/sbom/tool/bin/python -m pip --python .cache/sbom/runtime/bin/python install --quiet -c constraints.txt dist/vmcp-*.whl
	.cache/sbom/tool/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
		--output-file dist/vmcp.cdx.json .cache/sbom/runtime/bin/python

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .cache
