# `make help` lists the targets. Needed: Go, Node with npm, make; for test-race a C compiler, too.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# Passed on: make test GOTESTFLAGS='-run Next -v', make sim SEEDS=100000 FIRST=1, make sim-mutants MUTANTS=claim,needs,
# make sim-coverage SEEDS=1000 COVERFLAGS=-blocks,
# make fuzz FUZZTIME=5m, make microbench BENCH=Lag, make run DATA=/tmp/tide.
GOTESTFLAGS ?=
SEEDS       ?= 10000
# The seed that make sim begins with: another one each time, because worlds that were run before find nothing new.
FIRST       ?= $(shell date +%s)00000
MUTANTS     ?=
FUZZTIME    ?= 20s
BENCH       ?= .
DATA        ?= ./data
CHAOS       ?= 10m
BROWSERFLAGS ?=
CLUSTERFLAGS ?=
CHAOSFLAGS  ?=
COVERFLAGS  ?=
SIMFLAGS    ?=

TOOLS := .cache/bin
MONGO := store/mongo/mongotest
DEPLOY := internal/deploytest
OIDC := internal/oidctest
TYPESCRIPT := clients/typescript

# Where the race detector has nothing to find: these packages start no goroutine, and the end-to-end tests watch a program that is
# built without it.
RACELESS := cron|dag|dag/condition|docs|engine|engine/attempt|engine/core|engine/incident|engine/lease|engine/plan|engine/sim|engine/wave|engine/wheel|examples
RACELESS := $(RACELESS)|importer|internal/archtest|internal/mutants|internal/runtoken|internal/simcover|moving|spec|templates|e2e|e2e/chaos|e2e/upgrade

define test-nested
	cd $(DEPLOY) && $(GO) test -count=1 $(GOTESTFLAGS) ./... # it reads what no cache watches
	cd $(OIDC) && $(GO) test -count=1 $(GOTESTFLAGS) ./... # it builds the program
endef

## Everyday

.PHONY: run
run: build examples ## Start the all-in-one server on 127.0.0.1:8080 with the examples loaded and running
	bin/tidewheel server --demo --data $(DATA)

.PHONY: examples
examples: ## Build the examples that are written in Go into bin/examples, where --demo looks for them
	$(GO) build -trimpath -o bin/examples/ ./examples/...

.PHONY: build
build: static ## Build bin/tidewheel
	$(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/tidewheel ./cmd/tidewheel

.PHONY: test
test: static ## Run every test that needs no browser and no outside server
	cd static && node --test test
	$(GO) test $(GOTESTFLAGS) ./...
	$(test-nested)

.PHONY: generate
generate: $(TOOLS)/templ $(TOOLS)/msgp $(TOOLS)/easyjson $(TYPESCRIPT)/node_modules/.package-lock.json ## Regenerate what is generated and committed: templ components, codecs, schemas, clients
	$(TOOLS)/templ generate
	cd store/sqlite && $(CURDIR)/$(TOOLS)/msgp -file codec_types.go -io=false -tests=false -unexported
	cd queue/jetstream && $(CURDIR)/$(TOOLS)/easyjson -no_std_marshalers codec_types.go
	$(GO) generate ./...
	$(GO) test ./web/api -count=1 -run='^TestClientsAreMadeOfTheDescription$$' -update >/dev/null
	$(GO) run ./internal/clientgen
	cd $(TYPESCRIPT) && npm run --silent generate

.PHONY: lint
lint: static $(TOOLS)/golangci-lint $(TOOLS)/deadcode ## Run golangci-lint, with .golangci.yml, on all modules, and look for functions that only tests call
	$(TOOLS)/golangci-lint run
	.ci/deadcode $(TOOLS)/deadcode
	cd $(MONGO) && $(CURDIR)/$(TOOLS)/golangci-lint run --config $(CURDIR)/.golangci.yml
	cd $(DEPLOY) && $(CURDIR)/$(TOOLS)/golangci-lint run --config $(CURDIR)/.golangci.yml
	cd $(OIDC) && $(CURDIR)/$(TOOLS)/golangci-lint run --config $(CURDIR)/.golangci.yml

.PHONY: vulnerabilities
vulnerabilities: $(TOOLS)/govulncheck ## Look for known vulnerabilities in what the product calls; asks the database at GOVULNDB (vuln.go.dev)
	$(TOOLS)/govulncheck $${GOVULNDB:+-db $$GOVULNDB} ./...

.PHONY: verify
verify: ## All that CI runs, from the cheapest to the dearest
	@.ci/verify

.PHONY: clean
clean: ## Remove what was built; ./data stays
	rm -rf bin .cache static/node_modules e2e/browser/node_modules $(TYPESCRIPT)/node_modules $(TYPESCRIPT)/dist coverage.out
	find static/dist -mindepth 1 ! -name .gitkeep -delete

## More tests

.PHONY: test-race
test-race: static ## Run the tests of all packages with goroutines of the product under the race detector
	GORACE="atexit_sleep_ms=0 $${GORACE:-}" $(GO) test -race $(GOTESTFLAGS) $$($(GO) list ./... | grep -vE '^[^/]+/[^/]+/[^/]+/($(RACELESS))$$')

# Packages with tests that leave something out under the race detector are in both.
.PHONY: test-raceless
test-raceless: static ## Run the tests that test-race leaves out; the two together are all of make test
	cd static && node --test test
	$(GO) test $(GOTESTFLAGS) $$($(GO) list ./... | grep -E '^[^/]+/[^/]+/[^/]+/($(RACELESS))$$') \
	  $$(git grep -l '^//go:build !race' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's,^,./,')
	$(test-nested)

.PHONY: test-mongo
test-mongo: ## Run the store's and the server's tests over MongoDB's protocol, and on $TIDEWHEEL_TEST_MONGODB_URI if set
	cd $(MONGO) && $(GO) test $(GOTESTFLAGS) $$($(GO) list ./... | grep -v /clustertest)

.PHONY: test-cluster
test-cluster: static ## Break a cluster of processes under load, part by part (CLUSTERFLAGS='-only 2,6 -rate 20', -short-form, -long); verify has the short form
	cd $(MONGO) && $(GO) test -count=1 -timeout=30m -v ./clustertest -args $(CLUSTERFLAGS)

.PHONY: test-clients
test-clients: build $(TYPESCRIPT)/node_modules/.package-lock.json ## Drive a real server with the generated clients for Python and TypeScript
	python3 -m unittest discover -s clients/python/tests
	cd $(TYPESCRIPT) && npm run --silent build && node --test dist/test/client.test.js

.PHONY: test-chaos
test-chaos: test-chaos-alone test-chaos-cluster ## Kill, stop and cut off the parts of whole systems at random for CHAOS (10m) each, and judge them by their programs' journals

.PHONY: test-chaos-alone
test-chaos-alone: static ## Only one engine, on SQLite
	$(GO) test ./e2e/chaos -run='^TestChaosLosesNothing$$' -count=1 -timeout=0 -v -args -chaos=$(CHAOS) $(CHAOSFLAGS)

.PHONY: test-chaos-cluster
test-chaos-cluster: static ## Only three engines that share a server of MongoDB's protocol
	cd $(MONGO) && $(GO) test ./chaostest -run='^TestChaosOfSeveralEnginesLosesNothing$$' -count=1 -timeout=0 -v -args -chaos=$(CHAOS) $(CHAOSFLAGS)

.PHONY: test-browser
test-browser: build examples e2e/browser/node_modules/.package-lock.json ## Click through the pages in Chromium; screenshots go to .cache/browser
	cd e2e/browser && node --test --test-reporter=spec --test-concurrency=1 $(BROWSERFLAGS)

.PHONY: screenshots
screenshots: build e2e/browser/node_modules/.package-lock.json ## Retake the pictures of README.md and docs/pages.md
	cd e2e/browser && node screenshots.mjs

.PHONY: sim
sim: ## Run the simulator over SEEDS seeds (10000) from FIRST on, which is another one each time and is printed
	$(GO) test ./engine/sim -run='^TestSeeds$$' -count=1 -timeout=0 -v -args -seeds=$(SEEDS) -first=$(FIRST) $(SIMFLAGS)

.PHONY: sim-coverage
sim-coverage: ## Run the simulator over SEEDS seeds (10000), and tell how often each branch of the core was reached, and which never was
	$(GO) run ./internal/simcover -seeds=$(SEEDS) $(COVERFLAGS)

.PHONY: sim-mutants
sim-mutants: ## Take out the engine's guards (MUTANTS=name,…), one at a time, and see the simulator turn red within SEEDS seeds
	$(GO) run ./internal/mutants -worlds=$(SEEDS) -only='$(MUTANTS)'

# All that reads bytes of others has a target. make verify gives each FUZZTIME, side by side on all processors; a night has time for
# FUZZTIME=5m. Inputs are those that were not tried before: what was found in them stays in the cache, and what fails below testdata/fuzz.
.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (20s), as many side by side as there are processors
	@GO=$(GO) .ci/fuzz $(FUZZTIME)

.PHONY: bench
bench: build ## Measure the whole system, with the machine's own limit beside it (BENCHFLAGS='-only lag -repeat 3')
	$(GO) run ./bench $(BENCHFLAGS)

.PHONY: microbench
microbench: static ## Run the packages' benchmarks whose names match BENCH (all), one package at a time
	$(GO) test -run='^$$' -bench='$(BENCH)' -benchmem -p=1 -timeout=0 ./...

## Built when something they are made of has changed

.PHONY: static
static: static/dist/manifest.json ## Bundle the pages' scripts and styles into static/dist

static/dist/manifest.json: static/node_modules/.package-lock.json static/build.mjs $(shell find static/src 2>/dev/null)
	cd static && node build.mjs

# esbuild's program arrives as an optional package of the platform, so no install script needs to run.
static/node_modules/.package-lock.json: static/package.json static/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 18 or later, it bundles the pages' scripts" >&2; exit 1; }
	cd static && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

# It drives the system's Chromium and downloads none.
e2e/browser/node_modules/.package-lock.json: e2e/browser/package.json e2e/browser/package-lock.json
	cd e2e/browser && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

$(TYPESCRIPT)/node_modules/.package-lock.json: $(TYPESCRIPT)/package.json $(TYPESCRIPT)/package-lock.json
	cd $(TYPESCRIPT) && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

# The tools are pinned in a module of their own, so that what they depend on stays out of the product's.
$(TOOLS)/golangci-lint: tools/go.mod tools/go.sum
	cd tools && $(GO) build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

$(TOOLS)/deadcode: tools/go.mod tools/go.sum
	cd tools && $(GO) build -o $(CURDIR)/$@ golang.org/x/tools/cmd/deadcode
	@touch $@

$(TOOLS)/govulncheck: tools/go.mod tools/go.sum
	cd tools && $(GO) build -o $(CURDIR)/$@ golang.org/x/vuln/cmd/govulncheck
	@touch $@

# What generates code that imports its own module has one version with it.
same-version = @[ "$$($(GO) list -m $(1))" = "$$(cd tools && $(GO) list -m $(1))" ] || \
	{ echo "go.mod and tools/go.mod want different versions of $(1); make them equal" >&2; exit 1; }

$(TOOLS)/templ: tools/go.mod tools/go.sum go.mod
	$(call same-version,github.com/a-h/templ)
	cd tools && $(GO) build -o $(CURDIR)/$@ github.com/a-h/templ/cmd/templ
	@touch $@

$(TOOLS)/msgp: tools/go.mod tools/go.sum go.mod
	$(call same-version,github.com/tinylib/msgp)
	cd tools && $(GO) build -o $(CURDIR)/$@ github.com/tinylib/msgp
	@touch $@

$(TOOLS)/easyjson: tools/go.mod tools/go.sum go.mod
	$(call same-version,github.com/mailru/easyjson)
	cd tools && $(GO) build -o $(CURDIR)/$@ github.com/mailru/easyjson/easyjson
	@touch $@

.PHONY: help
help: ## Say this
	@awk -F ':.*## ' '/^## / { print "\n" substr($$0, 4) } /^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
