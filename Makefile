# One entry for everything. The first target that needs it builds .venv, pinned.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Two processes of one thread each: torch's own threads would get in their way.
TESTS := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

.PHONY: demo test check format lint types fast golden readme docs clean

demo: $(READY)
	$(BIN)/dsgrl demo --out demo

# All tests, slow ones and those on benchmark data (where DSGRL_DATA is set) included.
test: $(READY)
	$(TESTS) --runslow

# What must be green before every commit.
check: lint types fast

lint: $(READY)
	$(BIN)/ruff format --check src tests scripts studies examples
	$(BIN)/ruff check src tests scripts studies examples

types: $(READY)
	$(BIN)/mypy

fast: $(READY)
	$(TESTS) -m "not slow and not data"

format: $(READY)
	$(BIN)/ruff format src tests scripts studies examples
	$(BIN)/ruff check --fix src tests scripts studies examples

# Rewrite the golden values; review the difference before you commit it.
golden: $(READY)
	$(BIN)/python scripts/golden.py

# Fill the README, docs/RESULTS.md and studies/pages from recorded results.
readme: $(READY)
	$(BIN)/python scripts/readme.py
	$(BIN)/python scripts/results.py
	$(BIN)/python scripts/fidelity.py
	$(BIN)/python -m studies.render

# The site, in site/; a broken link fails. Its examples are run by the tests.
docs: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/python scripts/site.py
	$(BIN)/python -m zensical build --strict --config-file mkdocs.yml

# torch comes first and pinned: unpinned, pip takes a build of several gigabytes.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) demo build site
