# What people do with Polyvox. `make` alone lists it. Python 3.11 or newer and make are enough.
PYTHON ?= python3
BIN := .venv/bin
ARGS ?=
# Without it every process of the tests would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run test lint docs screenshots bench lock clean ready browser checks tests

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## get everything: packages, the embedded model, the tools for tests
	@$(PYTHON) tools/environment.py develop

ready:
	@$(PYTHON) tools/environment.py run

run: ready  ## set up what is missing, then start the app (ARGS="--port 5000")
	@$(BIN)/polyvox serve $(ARGS)

browser: setup
	@$(BIN)/python tools/chromium.py > /dev/null

test: browser  ## every check and every test, at the same time
	@$(MAKE) --no-print-directory --jobs 2 checks tests

checks:  # shown in one piece, for the tests write between the lines
	@$(MAKE) --no-print-directory lint > .cache/lint.txt 2>&1; code=$$?; cat .cache/lint.txt; exit $$code

tests:
	$(BIN)/pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder $(ARGS)

lint: setup  ## style, types, import rules, the page's scripts, the generated pages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/page.py
	$(BIN)/python tools/docs.py --check

docs: setup  ## write the generated pages anew
	$(BIN)/python tools/docs.py

screenshots: browser  ## take the pictures of README and docs anew (ARGS="--only welcome")
	$(BIN)/python tools/screenshots.py $(ARGS)

bench: setup  ## measure, side by side with others
	$(BIN)/python -m benchmarks $(ARGS)

lock:  ## pin the requirements anew (ARGS=--upgrade for the newest)
	$(PYTHON) tools/lock.py $(ARGS)

clean:  ## remove everything that was made here, .venv too; conversations are kept elsewhere
	rm -rf .venv .cache build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} +
	rm -rf src/*.egg-info
