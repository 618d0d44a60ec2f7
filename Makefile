# Commands for developers and scripts. Each target first installs its dependencies.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
FUZZ_STAMP := $(VENV)/.installed-fuzz
BENCH_STAMP := $(VENV)/.installed-bench
DOCS_VENV := .venv-docs
DOCS_STAMP := $(DOCS_VENV)/.installed
DOCS := var/docs
WORKERS ?= auto
# pip does not compile packages, which is faster. Python compiles imported modules, and must store the result even if
# the environment disables this. Otherwise, every start would compile the modules again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help run test test-all nightly contract lint bench docs pictures lock release clean

help: ## List all targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# The recipe runs in one shell, which removes an incomplete environment after an error or Ctrl-C. After a kill, the file
# `.unfinished` remains, and the next call deletes the environment.
$(STAMP): requirements.txt
	@set -e; \
	test ! -e $(VENV)/.unfinished || rm -rf $(VENV); \
	python="$(PYTHON)"; test ! -x $(BIN)/python || python=$(BIN)/python; \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		version=$$("$$python" --version 2>&1) || version="not to be found"; \
		echo "Python 3.11 or newer is needed, and $$python is $$version: make $(MAKECMDGOALS) PYTHON=python3.11" >&2; exit 1; }; \
	if [ ! -x $(BIN)/python ]; then \
		trap 'rm -rf $(VENV)' EXIT; trap 'exit 130' INT TERM HUP; \
		echo "Creating $(VENV) …"; \
		mkdir -p $(VENV); touch $(VENV)/.unfinished; \
		"$$python" -m venv $(VENV); \
	fi; \
	echo "Installing packages into $(VENV) …"; \
	$(BIN)/python -m pip install -qq --no-compile --disable-pip-version-check --require-hashes -r requirements.txt; \
	rm -f $(VENV)/.unfinished; touch $@; trap - EXIT

$(DEV_STAMP): requirements-dev.txt $(STAMP)
	@echo "Installing development tools into $(VENV) …"
	@$(BIN)/python -m pip install -qq --no-compile --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

run: $(STAMP) ## Start both services and the workers on SQLite with demo data. Options: PORT, LEDGER_PORT, METRICS_PORT, HOST.
	@exec $(BIN)/python -m config.ops.supervisor --docs

$(FUZZ_STAMP): requirements-fuzz.txt $(DEV_STAMP)
	@echo "Installing what fuzzes the interface into $(VENV) …"
	@$(BIN)/python -m pip install -qq --no-compile --disable-pip-version-check --require-hashes -r requirements-fuzz.txt
	@touch $@

PYTEST = DATABASE_URL="$(TEST_DATABASE_URL)" $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test: $(DEV_STAMP) ## Run the tests that require only Python, on SQLite or on TEST_DATABASE_URL. ARGS are arguments of pytest.
	@$(PYTEST) --ignore tests/system $(ARGS)
	@echo "Servers, browsers, races and other processes are tested by: make test-all"

test-all: export HYPOTHESIS_PROFILE ?= full
test-all: $(FUZZ_STAMP) docs ## Run the same tests and tests/system/ (servers, browsers, storms, deploy, fuzz). Missing tools skip tests.
	@for part in "--ignore tests/system" tests/system; do \
		$(PYTEST) $$part $(ARGS) || { [ $$? = 1 ] && echo "Once more, and alone, what failed beside others:" && \
			$(PYTEST) -n 0 $$part --last-failed --last-failed-no-failures none $(ARGS); } || exit 1; \
	done

nightly: export HYPOTHESIS_PROFILE := thorough
nightly: export FUZZ_EXAMPLES := 50
nightly: export RETRIES := 1000
nightly: export QUOTE_LOANS := 100000
nightly: export EU_FORMS := 500
nightly: export EU_DOCUMENTS := 10000
nightly: export NOTICES := 2000
nightly: export AGREEMENTS := 10000
nightly: export CLOCKS := 200
nightly: export EXPLANATIONS := 300
nightly: export SHOWN_LOANS := 200
nightly: export REASONSMITH_CARDS := 100
nightly: export APPROVALS := 1000
nightly: export SCORE_PAIRS := 100000
nightly: export DECISIONS := 10000
nightly: export KILLS := 1000
nightly: export PROBES := 100000
nightly: export STORM_KEYS := 1000
nightly: export STORM_EVENTS := 10000
nightly: export STORM_KILLS := 80
nightly: export STORM_ROUNDS := 80
nightly: export ERASURE_KILLS := 1000
nightly: export EXPORTS := 10000
nightly: export AUDITED := 10000
nightly: $(BENCH_STAMP) ## Run storms, fuzz, properties, failover, faults, soak, and bench for hours, on PostgreSQL at TEST_DATABASE_URL.
	@$(PYTEST) -n 0 --timeout 0 -m nightly tests $(ARGS)
	@$(PYTEST) -n 0 --timeout 0 tests/system/fuzz tests/system/credit/scoring/test_jpmml.py tests/system/credit/scoring/test_jpmml_explanation.py tests/system/credit/test_withdrawal_clock.py tests/system/credit/test_precontract_pages.py tests/test_retries.py tests/system/flows/test_erasure_everywhere.py tests/flows/test_export_isolation.py tests/config/test_audit.py $(wildcard tests/system/*/test_*storm.py) $(ARGS)
	@$(PYTEST) --timeout 0 $(wildcard tests/*/*_properties.py tests/*/*/*_properties.py) $(ARGS)
	@HYPOTHESIS_PROFILE=full RETRIES=120 $(PYTEST) --timeout 0 --ignore tests/system $(ARGS)
	@$(BIN)/python -m tests.bench --peers
	@$(BIN)/python -m tests.bench --only faults --only failover --only soak

contract: export UPDATE_CONTRACT := 1
contract: $(DEV_STAMP) ## Update the examples, the golden OpenAPI document, and the statement counts. Review the diff.
	@$(BIN)/python -m pytest -q -n 0 tests/contract.py
	@$(BIN)/python -m pytest -q -n 0 tests/test_openapi.py
	@$(BIN)/python -m pytest -q -n 0 tests/test_statements.py

lint: $(DEV_STAMP) ## Check style, types, imports between apps, and that all migrations exist and are reversible.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python manage.py makemigrations --check --dry-run
	@DJANGO_SETTINGS_MODULE=tests.system.upgrade.settings $(BIN)/python manage.py lintmigrations --quiet ok ignore

$(BENCH_STAMP): requirements-bench.txt $(FUZZ_STAMP)
	@echo "Installing what the references of the bench need into $(VENV) …"
	@$(BIN)/python -m pip install -qq --no-compile --disable-pip-version-check --require-hashes -r requirements-bench.txt
	@touch $@

bench: $(BENCH_STAMP) ## Compare with the references in the same run, on PostgreSQL at BENCH_DATABASE_URL. ARGS select measurements.
	@$(BIN)/python -m tests.bench $(ARGS)

$(DOCS_STAMP): requirements-docs.txt $(STAMP)
	@echo "Installing what builds the documentation into $(DOCS_VENV) …"
	@$(BIN)/python -m venv --clear $(DOCS_VENV)
	@$(DOCS_VENV)/bin/python -m pip install -qq --no-compile --disable-pip-version-check --require-hashes -r requirements-docs.txt
	@touch $@

# The old files are served until all new files exist.
$(DOCS)/index.html: $(DOCS_STAMP) $(wildcard docs/* docs/*/* *.md config/docs/source.py config/docs/fixes.json */errors.py */events.py */core/errors.py */core/events.py */core/errors/* tests/openapi.json)
	@echo "Building the documentation into $(DOCS) …"
	@rm -rf $(DOCS)-build && mkdir -p $(DOCS)-build
	@VAR_DIR=$(DOCS)-build $(BIN)/python -m config.docs.source $(DOCS)-build/source
	@$(DOCS_VENV)/bin/sphinx-build -q -W --keep-going -b html -d $(DOCS)-build/doctrees $(DOCS)-build/source $(DOCS)-build/html
	@rm -rf $(DOCS) && mv $(DOCS)-build/html $(DOCS) && rm -rf $(DOCS)-build

docs: $(DOCS)/index.html ## Build the documentation for /docs.

pictures: $(DEV_STAMP) ## Update the pictures of README and docs/ from the demo. Requires Chromium.
	@$(BIN)/python -m tests.system.pictures

lock: $(DEV_STAMP) ## Update the hashed lock files from the *.in files.
	@for set in requirements requirements-dev requirements-fuzz requirements-bench requirements-docs; do \
		$(BIN)/uv pip compile $$set.in --python-version 3.11 --generate-hashes --no-emit-index-url \
			--no-emit-find-links --no-annotate --no-header --quiet --output-file $$set.txt; \
	done

release: $(DEV_STAMP) ## Create a release of the commit in dist/, anchored in the ledger at CHAIN_URL. ARGS are options of make_release.
	@$(BIN)/python manage.py make_release $(ARGS)

clean: ## Remove the virtual environments and everything in var/.
	rm -rf $(VENV) $(DOCS_VENV) var
