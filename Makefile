# Every habit as one word. Tools come from the active environment, or from .venv when there is one: make setup, make help.
BIN := $(if $(wildcard .venv/bin/python),.venv/bin/,)
PYTHON ?= $(BIN)python

.DEFAULT_GOAL := help
.PHONY: help setup test nightly quick lint types docs site page bench fixtures changelog fuzz house wheel ci release

help: ## print this
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install tfadvisor for editing, with the tools of every verb here
	$(PYTHON) -m pip install -e '.[test,docs,browser]' build pre-commit

test: ## run every test that is not nightly, as CI does: ten minutes
	$(PYTHON) -m pytest -n auto --dist worksteal -m 'not nightly'

nightly: ## run the tests marked nightly, the readings with NumPy 1, and fuzz for SECONDS
	$(PYTHON) -m pytest -n auto -m nightly
	rm -rf build/numpy1
	if $(PYTHON) -m pip install --quiet --no-deps --require-hashes --target build/numpy1 -r .ci/locks/numpy1.txt; \
	then PYTHONPATH=build/numpy1 $(PYTHON) -m pytest -n auto tests/unit/metrics tests/unit/timeline; \
	else echo "NumPy 1 cannot be installed here"; fi
	$(MAKE) fuzz

quick: ## run the tests that are neither slow nor start processes
	$(PYTHON) -m pytest -n auto -m 'not slow and not subprocess and not nightly'

BASE ?= main
lint: ## ruff, import contracts, words, rules, commit subjects since BASE
	$(BIN)ruff format --check .
	$(BIN)ruff check .
	$(BIN)lint-imports
	$(PYTHON) docs/lint_words.py
	$(BIN)tfadvisor rules check rules
	@! git log --no-merges --format=%s $(BASE)..HEAD 2>/dev/null | grep -E '^.{73}' || { echo "commit subjects have at most 72 characters"; exit 1; }

types: ## mypy, strict
	$(BIN)mypy

docs: ## write the reference from the code, then build the site into build/site
	$(PYTHON) docs/generate.py
	$(BIN)mkdocs build --strict --quiet

site: ## show the site in a browser, rebuilt at every change
	$(BIN)mkdocs serve

page: ## check, test and build the page in web/
	npm ci --silent --prefix web
	npm run --silent --prefix web check
	npm test --silent --prefix web
	npm run --silent --prefix web build

bench: ## time and memory beside XProf
	$(PYTHON) benchmarks/against_xprof.py

fixtures: ## record the fixtures anew: needs TensorFlow, JAX and Linux
	$(PYTHON) fixtures/record.py

house: ## count packages, modules, tokens, complex functions, rules, bounds, metrics
	$(PYTHON) docs/house.py

changelog: ## show what the next release's notes will say
	$(BIN)towncrier build --draft --version next

SECONDS ?= 300
fuzz: ## fuzz every target for SECONDS, five minutes by default, then whole analyses of hostile names
	$(PYTHON) fuzz/run.py --seconds $(SECONDS)
	$(PYTHON) benchmarks/hostile_analyses.py --seconds $(SECONDS)

wheel: ## build an sdist and a wheel, and refuse one without the compiled decoder
	rm -rf dist
	$(PYTHON) -m build
	$(PYTHON) tests/check_wheel.py dist/*.whl

ci: ## what CI runs, from an empty environment
	.ci/run

release: ## notes, commit and tag of VERSION; pushing the tag publishes it
	test -n "$(VERSION)" && test -z "$$(git status --porcelain)"
	sed -i 's/^VERSION = .*/VERSION = "$(VERSION)"/' tfadvisor/version.py
	$(PYTHON) -m towncrier build --yes --version "$(VERSION)"
	git add -A && git commit -m "Release $(VERSION)" && git tag "v$(VERSION)"
	@echo "publish it: git push origin main v$(VERSION)"
