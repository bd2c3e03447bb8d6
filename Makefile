# Every target sets up .venv first, if that is not done yet. Only Python >= 3.11 and make are needed;
# once installed, everything works without network.

# The first of these that is Python >= 3.11 and can make a virtual environment; or: make PYTHON=...
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo $$p; break; fi; done)

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
BUILD := build
PYTEST_ARGS ?= -n auto --dist worksteal
DOCS_ARGS ?= --strict
# but for those of pages and notebooks of docs/, which the tests run
PAGED := notebooks pages papers release releases auditor bank folder hotline pilot pool product student spoof watchlist
EXAMPLES := $(filter-out $(PAGED:%=examples/%.py),$(wildcard examples/*.py))

# Named by what is installed (the head of pyproject.toml) and where, so that nothing is installed twice
# and a moved copy is made anew.
STAMP := $(VENV)/.installed-$(shell { sed '/^\[tool.ruff/,$$d' pyproject.toml; pwd; } | cksum | tr ' ' '-')

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests, examples and checks start hundreds of processes: none of them compiles the package anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := setup
.PHONY: setup demo demo-audio demo-trials test quick coverage coverage-study evidence language-sample same lint format types docs examples bench check wheel release clean help

setup: $(STAMP) ## set up .venv with everything (the default)

$(STAMP):
	@test -n "$(PYTHON)" || { echo 'Parivox needs Python >= 3.11 with the venv module: install it, or name it with make PYTHON=...' >&2; exit 2; }
	@grep -qs '$(CURDIR)/$(VENV)$$' $(VENV)/pyvenv.cfg || rm -rf $(VENV)
	@rm -f $(VENV)/.installed-*
	$(PYTHON) -m venv $(VENV)
	@echo 'Installing what pyproject.toml names, in a minute or two:'
	$(PY) -m pip install --no-compile --editable '.[dev]'
	@touch $@
	@echo 'Set up in .venv: try make demo, make test, or .venv/bin/parivox --help'

# Where .venv is set up the demo runs there; else in an environment of its own, a quarter of the size.
DEMO := $(if $(wildcard $(STAMP)),$(BIN),$(BUILD)/venv/bin)

demo: $(DEMO)/parivox ## audit two real systems on 550,894 VoxCeleb1-H trials; the page is build/demo/report.html
	$< demo --out $(BUILD)/demo

$(BUILD)/venv/bin/parivox:
	$(PYTHON) -m venv $(BUILD)/venv
	$(BUILD)/venv/bin/python -m pip install --no-compile --editable '.[demo]'

demo-audio: $(STAMP) ## from recordings to an audit, on synthetic voices (ge2e's weights come once, through pip)
	@echo 'The voices are synthetic: what the audit says is about a synthesiser, not about people.'
	$(PY) examples/demo_audio.py $(BUILD)/demo-audio
	$(BIN)/parivox embed $(BUILD)/demo-audio/utterances.csv --system ge2e --out $(BUILD)/demo-audio/embeddings
	$(BIN)/parivox score $(BUILD)/demo-audio/trials.csv --embeddings $(BUILD)/demo-audio/embeddings \
		--out $(BUILD)/demo-audio/scores.parquet --overwrite
	$(BIN)/parivox audit $(BUILD)/demo-audio/scores.parquet --utterances $(BUILD)/demo-audio/utterances.csv \
		--speakers $(BUILD)/demo-audio/speakers.csv --by gender

demo-trials: $(STAMP) ## check the list of those trials: why its groups are not comparable
	@data="$$($(PY) examples/demo_data.py)" && set -x && $(BIN)/parivox trials check \
		"$$data/resnetse34v2_H-eval_scores.csv" --speakers "$$data/vox1_meta.csv" --by gender+nationality

# Tests start hundreds of processes, which share the processors: threads of one that wait for each
# other take time from the others.
test quick coverage coverage-study evidence: export OMP_NUM_THREADS := 1

test: $(STAMP) ## run every test and every example in docstrings and docs
	$(PY) -m pytest $(PYTEST_ARGS)

quick: $(STAMP) ## run most tests of every room in about a minute: those not marked slow
	$(PY) -m pytest $(PYTEST_ARGS) -m 'not slow' --durations=5

coverage: $(STAMP) ## the same, and say which lines no test reaches
	$(PY) -m pytest $(PYTEST_ARGS) --cov --cov-report=term

coverage-study: $(STAMP) ## how often intervals and floors hold: lists its studies with their minutes; STUDY=ratios runs one, CELLS=NAME some of its cells
	$(PY) -m benchmarks.coverage $(STUDY) $(if $(CELLS),--cells $(CELLS))

# Tools that studies compare with and nothing else needs, apart from .venv.
$(BUILD)/peers: | $(STAMP)
	$(PY) -m pip install --quiet --no-compile --no-deps --target $@ confidence-intervals==0.0.3 spkproof==0.3.0

evidence: $(STAMP) $(BUILD)/peers ## repeat the second corpus and the comparison with other tools, write their pages: about 15 minutes on two free cores (28 CPU minutes)
	PYTHONPATH=$(BUILD)/peers $(PY) -m benchmarks.coverage speechocean rivals peers

language-sample: $(STAMP) ## 100 sentences for editors to judge, drawn by the commit: see CONTRIBUTING.md
	@$(PY) -m benchmarks.language_sample

same: $(STAMP) ## do frozen audits come out as before? ONLY=levels,failures runs some; RECORD="why" records
	$(PY) -m tests.same $(ONLY) $(if $(RECORD),--record "$(RECORD)")

lint: $(STAMP) ## style, format, spelling, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/typos --format brief
	$(BIN)/lint-imports

format: $(STAMP) ## rewrite the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(STAMP) ## mypy, strict; pyright on what users write
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

docs: $(STAMP) ## build the documentation into site/
	$(BIN)/zensical build --clean $(DOCS_ARGS)

examples: $(EXAMPLES:%=run-%) ## run the examples that no test runs; with -j2 two at a time

run-examples/%: $(STAMP)
	$(PY) examples/$*

bench: $(STAMP) ## measure speed and memory, write the tables: an hour, 5 GB in build/benchmarks
	@failed=0; for part in "benchmarks --scale" "benchmarks.scoring --embedding --write"; do \
	$(PY) -m $$part || failed=1; done; exit $$failed

wheel: $(STAMP) ## build the wheel and the source archive into dist/
	rm -rf dist
	$(PY) -m build

release: $(STAMP) ## build what is released into dist/, each twice and the same, and try it on every Python that is there
	.ci/release

check: lint types test docs examples demo demo-trials ## everything but the benchmarks and the fresh installs of .ci/run

clean: ## remove what was built, and .venv
	rm -rf $(VENV) $(BUILD) dist site .coverage .coverage.*

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12
