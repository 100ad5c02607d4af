# The front door: every command that a developer, a user of the sources or the checks need. `make help` lists them.
# Variables: PRESET (dev), JOBS (all cores), SONDE_PYTHON (a Python with torch).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PRESET ?= dev
JOBS ?= $(shell nproc)
# The processor that the preset compiles for: release-aarch64 names another than ours.
CPU = $(or $(patsubst release-%,%,$(filter release-%,$(PRESET))),$(shell uname -m))
PYTHON_TEST = $$(setup/python.sh test)

# Objects are shared between clones and presets: paths below this folder are stored relative to it.
export CCACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sonde/ccache
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1

# The tests of these folders run under a sanitizer, and not plain, too: those that parse foreign bytes, and those with
# threads. Folders that use DuckDB are not among the latter: the thread sanitizer cannot see into it and reports its own
# threads. Plain as well run the recorder's: forks beside threads are not for sanitizers.
ASAN_FOLDERS ?= base capture record store importers recipes exporters precision
TSAN_FOLDERS ?= base capture record probe
# Those whose tests run for 64-bit Arm: what is loaded into programs, and what reads and writes bytes.
ARM_FOLDERS ?= base record probe store importers
FUZZ_SECONDS ?= 60
# Those with a test that ends in IsCurrent: it compares a file of the tree with what it is made from.
GOLDEN_PROGRAMS = $(shell grep -rl 'IsCurrent' src --include='*_test.cc' | cut -d/ -f2 | sort -u | sed 's/.*/sonde_&_test/')
FUZZ_TARGETS ?=

##@ Set-up and build
.PHONY: setup
setup: ## Install or fetch all that build, demo, tests and lint need; quick when nothing is missing
	@setup/debian.sh build test
	@setup/duckdb.sh
	@setup/web.sh
	@setup/python.sh test >/dev/null

.PHONY: setup-vllm
setup-vllm: ## Install a vLLM for the CPU, with which `make test` tests the real server too; quick when it is there
	@setup/python.sh vllm >/dev/null

.PHONY: setup-vllm-newest
setup-vllm-newest: ## Install the newest vLLM, which has no wheel for the CPU, over the one of `make setup-vllm`; quick when it is there
	@setup/python.sh vllm-newest >/dev/null

.PHONY: setup-mindspore
setup-mindspore: ## Install a MindSpore for the CPU, with which `make test` tests it too; quick when it is there
	@setup/python.sh mindspore >/dev/null

.PHONY: setup-engine
setup-engine: ## Install Ray, Dask, DuckDB and a server of buckets, with which `make test` tests `--engine` and lakes, too; quick when they are there
	@setup/python.sh engine >/dev/null

# What the release preset is linked with, so that it starts on older machines, too.
.PHONY: setup-build
setup-build:
	@setup/debian.sh build test
	@[ $(CPU) = $$(uname -m) ] || setup/sysroot.sh $(CPU) >/dev/null
	@SONDE_CPU=$(CPU) setup/duckdb.sh
	@setup/web.sh
	@$(if $(filter release%,$(PRESET)),SONDE_CPU=$(CPU) setup/portable.sh >/dev/null)

.PHONY: build
build: configure ## Compile with the preset PRESET (dev, release, asan, tsan) into build/<preset>
	@cmake --build build/$(PRESET) -j $(JOBS)

.PHONY: product
product: configure ## The same without the tests: the command and its libraries
	@cmake --build build/$(PRESET) -j $(JOBS) --target product

.PHONY: configure
configure: setup-build
	@cmake --preset $(PRESET) >build-$(PRESET).log 2>&1 || { cat build-$(PRESET).log >&2; rm -f build-$(PRESET).log; exit 1; }
	@rm -f build-$(PRESET).log

.PHONY: demo
demo: $(if $(WHEEL),,demo-build) ## Train a small GPT on two ranks under Sonde, and show what Sonde found (OPEN=0: without the page; WHEEL=FILE: of a wheel, nothing is compiled)
	@setup/python.sh torch >/dev/null
	@tools/demo.sh $(if $(WHEEL),--wheel $(WHEEL),build/$(PRESET)/bin)

# The compiler's lines go to build/<preset>/build.log; a newcomer sees one that counts.
.PHONY: demo-build
demo-build: configure
	@python3 tools/quiet_build.py build/$(PRESET) $(JOBS) product

.PHONY: recorded
recorded:
	@test -e build/transcripts/demo.txt -a -d demo || $(MAKE) demo OPEN=0
	@test -e build/transcripts/gallery.txt -a -d demo-gallery || $(MAKE) demo-gallery OPEN=0

.PHONY: picture
picture: demo-build recorded ## Draw every view of the page on what the demo and the gallery recorded, light and dark (VIEWS=... some)
	@cd web && $$(dirname $$(readlink -f node_modules))/node picture.mjs $(CURDIR)/build/$(PRESET)/bin/sonde \
	  "$$(../setup/python.sh torch)" .. ../docs/images $(VIEWS)
	@$$(setup/python.sh docs) tools/shrink_pictures.py docs/images

.PHONY: docs-outputs
docs-outputs: demo-build recorded ## Rewrite the outputs that the documents quote, from what the demo and the gallery printed
	@python3 tools/docs_outputs.py build/$(PRESET)/bin

.PHONY: docs
docs: ## Make the site of the documents, English and Chinese, in build/site; a broken link fails
	@mkdir -p build
	@NO_MKDOCS_2_WARNING=1 $$(setup/python.sh docs) -m mkdocs build --strict --site-dir build/site >build/docs.log 2>&1 || \
	  { grep -E 'WARNING|ERROR|Aborted' build/docs.log >&2; exit 1; }
	@echo "the site is in build/site: open build/site/index.html"

.PHONY: demo-vllm
demo-vllm: demo-build ## Serve a small model by vLLM on two ranks under Sonde, profile some requests, compare the numbers of two servers, show what Sonde found
	@python=$$(setup/python.sh vllm) && python3 tools/demo_vllm.py build/$(PRESET)/bin/sonde "$$python" demo-vllm

.PHONY: demo-gallery
demo-gallery: demo-build ## Record and analyse small programs: a slow rank, NaN, memory growth, two versions, a vLLM server (OPEN=0: without the pages)
	@python3 tools/demo_gallery.py build/$(PRESET)/bin/sonde "$$(setup/python.sh torch)" "$$(setup/python.sh vllm --if-there)"

.PHONY: demo-mindspore
demo-mindspore: demo-build ## Record a MindSpore program in three modes under Sonde, and compare its numbers with its PyTorch twin's
	@tools/demo_mindspore.sh $(PRESET)

##@ Tests
.PHONY: test
test: configure ## Build and run every test: C++ (under a sanitizer where there is one for the folder), Python, page
	@$(PYTHON_TEST) tools/run_tests.py --jobs $(JOBS) --asan "$(ASAN_FOLDERS)" --tsan "$(TSAN_FOLDERS)"

.PHONY: check
check: configure ## Build and test one folder in under a minute: F=store, F=test/probe, F=test/e2e/test_view.py, F=web
	@$(PYTHON_TEST) tools/check_folder.py --jobs $(JOBS) "$(F)"

.PHONY: golden
golden: configure ## Rewrite all files of the tree that are made from declarations in the sources
	@cmake --build build/$(PRESET) -j $(JOBS) --target $(GOLDEN_PROGRAMS)
	@for name in $(GOLDEN_PROGRAMS); do \
	  SONDE_UPDATE_GOLDEN=1 build/$(PRESET)/bin/$$name --gtest_filter='*IsCurrent' --gtest_brief=1; done

.PHONY: test-vllm
test-vllm: build ## Run the tests on a real vLLM server (part of `make test` where that is installed)
	@SONDE_VLLM_PYTHON=$$(setup/python.sh vllm) $(PYTHON_TEST) -m pytest -q test/vllm

.PHONY: test-mindspore
test-mindspore: build ## Run all tests on a real MindSpore (a sample is part of `make test` where that is installed)
	@SONDE_THOROUGH=1 SONDE_MINDSPORE_PYTHON=$$(setup/python.sh mindspore) $(PYTHON_TEST) -m pytest -q -o addopts=-ra test/mindspore

.PHONY: test-wheel
test-wheel: wheel ## Install the wheel into fresh Debian systems, older and newer, and use it there (root; some minutes)
	@setup/debian.sh wheel
	@python3 test/wheel/run_roots.py dist/sonde-*$(CPU).whl

.PHONY: test-aarch64
test-aarch64: ## Cross-compile for 64-bit Arm, run its unit tests under qemu, and use that wheel in fresh Arm systems (root; an hour)
	@$(MAKE) --no-print-directory wheel CPU=aarch64
	@cmake --build build/release-aarch64 -j $(JOBS) --target $(ARM_FOLDERS:%=sonde_%_test)
	@$(PYTHON_TEST) test/wheel/run_arm_tests.py build/release-aarch64 $(ARM_FOLDERS)
	@setup/debian.sh wheel
	@python3 test/wheel/run_roots.py dist/sonde-*aarch64.whl

.PHONY: test-thorough
test-thorough: build ## Run what tests leave to others of its kind by default: other ranks, ways, damages (SONDE_THOROUGH=1)
	@SONDE_THOROUGH=1 $(PYTHON_TEST) -m pytest -q -o addopts=-ra $$(grep -rl SONDE_THOROUGH test/e2e test/probe test/python test/wheel --include='test_*.py')

.PHONY: test-corpus
test-corpus: build ## Check the sentences and figures of every trace of test/e2e/corpus.txt (a part of them is in `make test`)
	@SONDE_CORPUS=1 $(PYTHON_TEST) -m pytest -q -o addopts=-ra test/e2e/test_corpus.py

.PHONY: test-compat
test-compat: build ## Compare with the peers: they open what Sonde writes, and msProbe records the same programs
	@setup/python.sh torch >/dev/null
	@setup/python.sh msprobe >/dev/null
	@PRESET=$(PRESET) $$(setup/python.sh compat) -m pytest -q -o addopts=-ra test/compat

.PHONY: test-families
test-families: build ## Compare pairs of real models with planted changes (transformers of `make setup-vllm`), and count the answers
	@mkdir -p build/families
	@PYTHONPATH=python SONDE_HOME=build/$(PRESET) OMP_NUM_THREADS=1 $$(setup/python.sh vllm) \
	  test/precision/families/count_families.py build/families build/$(PRESET)/bin/sonde

.PHONY: test-graph
test-graph: build ## Record compiled models (transformers of `make setup-vllm`), and count how much of their kernels' time has a module
	@mkdir -p build/graph
	@SONDE_HOME=build/$(PRESET) OMP_NUM_THREADS=1 $$(setup/python.sh vllm) \
	  test/graph/count_modules.py build/graph build/$(PRESET)/bin/sonde

.PHONY: test-graph-warm
test-graph-warm: build ## Start a vLLM under Sonde from caches that it made without it, and count how much of its kernels' time has a module
	@SONDE_HOME=build/$(PRESET) OMP_NUM_THREADS=1 $$(setup/python.sh vllm) \
	  test/graph/count_warm.py build/graph-warm build/$(PRESET)/bin/sonde

.PHONY: test-slow-requests
test-slow-requests: build ## Plant causes of slow requests in a real vLLM, and count those that are found (ARGUMENTS="--times 1 --only queue")
	@SONDE_HOME=build/$(PRESET) $$(setup/python.sh vllm) \
	  test/slow_requests/count_causes.py build/slow_requests build/$(PRESET)/bin/sonde $(ARGUMENTS)

.PHONY: test-graph-faults
test-graph-faults: build ## Plant faults in torch's compiler, and count which `sonde probe first_difference` finds; no model without one is accused
	@mkdir -p build/graph
	@export SONDE_HOME=build/$(PRESET) OMP_NUM_THREADS=1 SONDE_QUIET=1; for what in faults backward right; do \
	  $$(setup/python.sh test) test/graph/count_faults.py build/graph build/$(PRESET)/bin/sonde $$what || exit 1; done; \
	  $$(setup/python.sh vllm) test/graph/count_faults.py build/graph build/$(PRESET)/bin/sonde families

.PHONY: test-engine
test-engine: build ## Run every mode of `sonde cluster` on Ray, Dask and Slurm, with losses on the way (SONDE_KILLS=20 of each kind), and all tests of lakes and buckets (a sample is in `make test`)
	@setup/debian.sh slurm
	@SONDE_THOROUGH=1 SONDE_ENGINE_PYTHON=$$(setup/python.sh engine) $(PYTHON_TEST) -m pytest -q -o addopts=-ra test/engine

.PHONY: test-torch-versions
test-torch-versions: build ## Run the adapter's tests on torch 2.4 to the newest, an environment each (KEEP=1 keeps them)
	@PRESET=$(PRESET) python3 test/torch_versions/run.py

.PHONY: test-vllm-ways
test-vllm-ways: build ## The same with vLLM started in every way and with every configuration (half an hour)
	@SONDE_VLLM_WAYS=all SONDE_VLLM_PYTHON=$$(setup/python.sh vllm) $(PYTHON_TEST) -m pytest -q test/vllm

.PHONY: test-mindspore-versions
test-mindspore-versions: build ## The same sample with releases from 2.7 on, an environment each (KEEP=1 keeps them)
	@$(PYTHON_TEST) test/mindspore_versions/run_mindspore.py

.PHONY: test-vllm-newest
test-vllm-newest: build ## Run the tests on a real vLLM server with the newest release (`make setup-vllm-newest`)
	@SONDE_VLLM_PYTHON=$$(setup/python.sh vllm-newest) $(PYTHON_TEST) -m pytest -q test/vllm

.PHONY: test-vllm-versions
test-vllm-versions: build ## Run the ways to start vLLM with releases from 0.11 on, an environment each (KEEP=1 keeps them)
	@setup/debian.sh versions
	@PRESET=$(PRESET) $$(setup/python.sh test) test/vllm_versions/run_releases.py

.PHONY: fuzz
fuzz: setup-build ## Run every fuzz target FUZZ_SECONDS (60) long, or only FUZZ_TARGETS (names or folders)
	@setup/debian.sh fuzz
	@$(PYTHON_TEST) tools/fuzz.py --jobs $(JOBS) --seconds $(FUZZ_SECONDS) $(FUZZ_TARGETS)

.PHONY: bench
bench: setup ## Build the benchmarks (release) and run each bench/<task>/run.sh
	@setup/debian.sh bench
	@cmake --preset release -DSONDE_BUILD_BENCH=ON >/dev/null
	@cmake --build build/release -j $(JOBS)
	@for run in bench/*/run.sh; do echo "== $$run"; "$$run" build/release; done

##@ Packages
WHEEL_PRESET = release$(if $(filter-out $(shell uname -m),$(CPU)),-$(CPU))

# Of the release preset's objects: what is compiled there already is not compiled for the wheel.
.PHONY: wheel
wheel: ## Build the Python wheel with command, libraries and package into dist/, and its list of parts (CycloneDX; CPU=aarch64: for Arm)
	@$(MAKE) --no-print-directory demo-build PRESET=$(WHEEL_PRESET) CPU=$(CPU)
	@$(PYTHON_TEST) tools/wheel.py build/$(WHEEL_PRESET) dist

.PHONY: install
install: wheel ## Install the wheel for you: into the active virtual environment, else by pipx, else into PREFIX (~/.local/share/sonde)
	@tools/install.sh dist/sonde-*$(CPU).whl

##@ Quality
.PHONY: lint
lint: ## Check format, layers, sizes, docs, and by compilers what changed (LINT=all: everything); remembers what passed
	@setup/debian.sh build test bench
	@setup/duckdb.sh
	@setup/web.sh
	@cmake --preset dev >build-lint.log 2>&1 || { cat build-lint.log >&2; rm -f build-lint.log; exit 1; }
	@rm -f build-lint.log
	@tools/lint.sh $(JOBS)

.PHONY: format
format: ## Format all C++ and Python files
	@$$(setup/python.sh lint) tools/check_format.py --fix

##@ Other
.PHONY: clean
clean: ## Remove everything that was built in this folder (the cache folder stays)
	rm -rf build dist demo demo-gallery demo-vllm

.PHONY: help
help: ## Print this list
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
