# One entry for everything. The first target that needs it builds .venv, pinned.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Where pip finds torch; empty: where it finds the rest.
TORCH_INDEX ?=
CPU_INDEX := https://download.pytorch.org/whl/cpu
UV := $(if $(TORCH_INDEX),,$(shell command -v uv))
UV_INSTALL = $(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt
INSTALL := $(PIP) --editable
# Two processes of one thread each: torch's own threads would get in their way.
TESTS := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

.PHONY: demo test check format lint types fast golden readme docs package sbom audit clean

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
	$(BIN)/python scripts/method_speed.py
	$(BIN)/python scripts/choices.py
	$(BIN)/python -m studies.render

# The site, in site/; a broken link fails. Its examples are run by the tests.
docs: $(READY)
	$(INSTALL) ".[docs]"
	$(BIN)/python scripts/site.py
	$(BIN)/python -m zensical build --strict --config-file mkdocs.yml

# A wheel and a source archive in dist/, installed into a new environment and tried.
package: $(READY)
	$(INSTALL) ".[release]"
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist > /dev/null
	$(BIN)/python scripts/check_package.py dist

# All installed packages as a CycloneDX list.
sbom: $(READY)
	$(INSTALL) ".[release]"
	$(BIN)/cyclonedx-py environment $(VENV) --output-file sbom.json

# Known vulnerabilities of the installed packages; says so where it cannot ask.
audit: $(READY)
	$(INSTALL) ".[release]"
	$(BIN)/python scripts/audit.py

# uv picks the build of torch for this machine by itself. Without it, pip takes what its
# index has: on Linux that is the CUDA build, unless TORCH_INDEX names another index.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	@echo "Downloads about 550 MB (torch for CPUs is 200 of them) and needs 3 GB of disk."
	@echo "With torch's CUDA build it is several GB more:" \
		"make TORCH_INDEX=$(CPU_INDEX) avoids it without uv."
	$(if $(UV),$(UV_INSTALL) --torch-backend=auto --editable ".[dev]" ||) \
		{ $(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch && \
		$(PIP) --editable ".[dev]"; }
	touch $(READY)

clean:
	rm -rf $(VENV) demo build site dist sbom.json
