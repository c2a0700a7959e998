# weir: `make run` serves a real model, `make test` proves that it works. `make help` lists the rest.
SHELL := /bin/bash
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)
BUILD ?= build
ARGS ?=

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

setup: ## install the Debian packages that building and testing need (as root)
	@tools/setup.sh

build: setup ## build build/weir
	@tools/build.sh $(BUILD) weir

model: ## get the default model (SmolLM2-135M-Instruct) and print its path
	@python3 tools/get_model.py smollm2

run: build model ## build, get the model, serve it on port 8000
	@tools/run.sh $(BUILD)/weir $(ARGS)

test: ## set-up, build and all tests: unit, simulation, end to end, conformance
	@python3 tools/ci.py test

check: ## sanitizers, fuzz smoke, tidy, benchmarks' smoke, short soak
	@python3 tools/ci.py check

soak: build model ## 5 minutes of 64 clients with hang-ups and bad requests
	@python3 tools/ci.py soak

bench: ## micro-benchmarks of this machine
	@python3 tools/ci.py bench

docs: build ## write docs/reference from the tables
	@$(BUILD)/weir docs docs/reference

format: ## clang-format all sources
	@git ls-files 'src/*.h' 'src/*.cpp' | xargs clang-format -i

tidy: ## the house rules
	@python3 tools/tidy.py

dist: ## dist/weir-VERSION-linux-x86_64.tar.gz: one stripped binary, licences, Containerfile
	@tools/dist.sh

clean: ## remove build folders
	@rm -rf build build-* dist .venv

.PHONY: help setup build model run test check soak bench docs format tidy dist clean
