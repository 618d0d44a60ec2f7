# What people and scripts call. Each target sets up what it needs first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
FUZZ_STAMP := $(VENV)/.installed-fuzz
BENCH_STAMP := $(VENV)/.installed-bench
WORKERS ?= auto

.DEFAULT_GOAL := help
.PHONY: help run test lint bench lock clean

help: ## Say what there is to call.
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(STAMP): requirements.txt
	@echo "Installing packages into $(VENV) …"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.txt
	@touch $@

$(DEV_STAMP): requirements-dev.txt $(STAMP)
	@echo "Installing development tools into $(VENV) …"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

run: $(STAMP) ## Start both services and the worker on SQLite, with demo data. PORT, LEDGER_PORT, METRICS_PORT, HOST move them.
	@exec $(BIN)/python -m config.supervisor

$(FUZZ_STAMP): requirements-fuzz.txt $(DEV_STAMP)
	@echo "Installing what fuzzes the interface into $(VENV) …"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-fuzz.txt
	@touch $@

test: $(FUZZ_STAMP) ## Run every test on SQLite, or on TEST_DATABASE_URL. ARGS are handed to pytest.
	@DATABASE_URL="$(TEST_DATABASE_URL)" $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

lint: $(DEV_STAMP) ## Check style, types, imports between rooms, and that no migration is missing.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy .
	@$(BIN)/lint-imports
	@$(BIN)/python manage.py makemigrations --check --dry-run

$(BENCH_STAMP): requirements-bench.txt $(FUZZ_STAMP)
	@echo "Installing what the references of the bench need into $(VENV) …"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-bench.txt
	@touch $@

bench: $(BENCH_STAMP) ## Measure against the references in the same run (PostgreSQL at BENCH_DATABASE_URL). ARGS narrow it.
	@$(BIN)/python -m tests.bench $(ARGS)

lock: $(DEV_STAMP) ## Write the hashed lock files anew from the *.in files.
	@for set in requirements requirements-dev requirements-fuzz requirements-bench; do \
		$(BIN)/uv pip compile $$set.in --python-version 3.11 --generate-hashes --no-emit-index-url \
			--no-emit-find-links --no-annotate --no-header --quiet --output-file $$set.txt; \
	done

clean: ## Remove the virtual environment and everything in var/.
	rm -rf $(VENV) var
