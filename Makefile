# Herald's front door. `make help` lists what there is.

SHELL := /bin/sh
NODE := node_modules/.bin/node --conditions=bgp-ts-source
BIN := node_modules/.bin
# npm scripts and tools run on the pinned Node
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install what is missing: Debian packages (routers are not started), Node 26 and npm packages
	@tools/setup.sh

.PHONY: check
check: setup ## check types
	@$(BIN)/tsc -p tsconfig.json

.PHONY: lint
lint: setup ## lint, format and import directions, nothing changed
	@timeout 300 $(BIN)/biome check --error-on-warnings

.PHONY: format
format: setup ## format and fix what can be fixed
	@$(BIN)/biome check --write

.PHONY: build
build: setup ## dist/herald: the program as one bundle
	@$(NODE) tools/build.ts

.PHONY: image
image: build ## herald:<version> by docker, podman, buildah, or a Docker of our own (IMAGE= its name, IMAGE_TOOL=, IMAGE_FILE=, IMAGE_ARCH=arm64)
	@IMAGE='$(IMAGE)' IMAGE_TOOL='$(IMAGE_TOOL)' IMAGE_FILE='$(IMAGE_FILE)' IMAGE_ARCH='$(IMAGE_ARCH)' tools/image.sh

.PHONY: clean
clean: ## remove what was built
	@rm -rf dist protocol/dist coverage

.PHONY: test
test: setup check lint build ## everything that proves it: types, lint, all rings (real routers want root)
	@$(NODE) tools/rings.ts

.PHONY: test-long
test-long: setup check lint build ## the long fuzz run, behaviours taken out on purpose, then every ring three times
	@$(NODE) --expose-gc tools/fuzz.ts
	@$(NODE) tools/break-rows.ts
	@HERALD_TEST_LONG=1 $(NODE) tools/rings.ts

.PHONY: unit
unit: setup ## the unit ring: codec, machines, RIB, transports
	@$(NODE) tools/rings.ts unit

.PHONY: coverage
coverage: setup ## the unit ring with branch coverage of the core; below the floor of 95 % it fails
	@$(BIN)/c8 --include 'protocol/bgp/**' --check-coverage --branches 95 --lines 0 --functions 0 --statements 0 \
		--reporter text --reporter html $(NODE) tools/rings.ts unit

.PHONY: interop
interop: setup build ## the rings with real routers and the scripted neighbour
	@$(NODE) tools/rings.ts wire interop

.PHONY: standalone
standalone: setup build ## the ring of the agent without a cluster: real routers, kernel routes, clients (wants root)
	@$(NODE) tools/rings.ts standalone

.PHONY: cluster-test
cluster-test: setup build ## the ring of Herald in Kubernetes: a real API server and etcd, real routers (wants root)
	@$(NODE) tools/rings.ts cluster

.PHONY: skew
skew: setup build ## 0.1 and this release beside each other, upgrade and rollback in both orders, in routers' tables and under a client's packets (wants root); OLD= a built tree of 0.1 (else made once)
	@HERALD_TEST_OLD='$(OLD)' $(BIN)/mocha test/cluster/version-skew.ts test/cluster/version-skew-traffic.ts

.PHONY: cluster
cluster: setup ## leaves a real API server with three Nodes running, to play with; prints its KUBECONFIG (CLUSTER='--servers=2 --proxy')
	@$(NODE) tools/cluster.ts $(CLUSTER)

.PHONY: cluster-down
cluster-down: setup ## ends what make cluster left running
	@$(NODE) tools/cluster.ts --down

.PHONY: lab
lab: setup build ## two racks of real routers, three nodes and a client in network namespaces, to play with (wants root; lab/README.md)
	@lab/runner/lab up

.PHONY: lab-cluster
lab-cluster: setup build ## the same network with a real Kubernetes on its nodes and Herald in it; prints its KUBECONFIG (wants root)
	@$(NODE) lab/cluster/main.ts up

.PHONY: lab-down
lab-down: setup ## ends what make lab and make lab-cluster left running; nothing stays
	@status=0; $(NODE) lab/cluster/main.ts down || status=1; lab/runner/lab down || status=1; exit $$status

.PHONY: scenario
scenario: setup build ## one story on the lab's cluster: NAME=first-service (without NAME: which there are)
	@$(NODE) lab/scenarios/run.ts $(if $(NAME),$(NAME),--list)

.PHONY: e2e
e2e: setup build ## all stories on the lab's cluster, and the topology in a real containerlab (wants root; SAVE=1 keeps the table in docs/e2e.md)
	@status=0; $(NODE) lab/scenarios/run.ts $(if $(SAVE),--save) || status=1; \
		$(MAKE) --no-print-directory clab-test || status=1; exit $$status

.PHONY: clab-test
clab-test: setup build ## the topology deployed and destroyed by a real containerlab, which is built if it is not there (wants root)
	@$(NODE) tools/rings.ts clab

.PHONY: demo
demo: setup ## one router and three agents on this machine, and a story to look at; no root (BREAK=hold: a story that must fail)
	@src/cli/herald demo $(if $(BREAK),--break $(BREAK)) $(DEMO)

.PHONY: fuzz
fuzz: setup ## 1,000,000 mutated messages through the decoder, time and memory bounded
	@$(NODE) --expose-gc tools/fuzz.ts

.PHONY: bench
bench: bench-routers bench-agent bench-cluster ## everything that is measured, three tables (wants root and a quiet machine, about 35 minutes)

.PHONY: bench-routers
bench-routers: setup build ## speed and memory beside BIRD, FRR, GoBGP, ExaBGP (wants root; BENCH=--help for options)
	@$(NODE) test/bench/run.ts $(BENCH)

.PHONY: bench-agent
bench-agent: setup build ## the agent without a cluster: start, routes, stop, memory, ten thousand claims, turns of its main thread (some rows want root; BENCH=--help)
	@$(NODE) test/bench/agent/run.ts $(BENCH)

.PHONY: bench-cluster
bench-cluster: setup build ## Herald in Kubernetes beside the numbers of MetalLB: one Service, a burst, a start, memory, lost nodes (BENCH=--help)
	@$(NODE) test/bench/cluster/run.ts $(BENCH)

.PHONY: bench-image
bench-image: setup build ## the image beside the bundle: size, start, memory (wants root)
	@$(NODE) test/bench/image/run.ts

.PHONY: break-rows
break-rows: setup ## takes behaviours out one line at a time, each in a copy, and wants the named test red (root; ROWS=unit|standalone|cluster, or rows)
	@$(NODE) tools/break-rows.ts $(ROWS)
