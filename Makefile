# The commands of this project. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Runs one stage and prints how long it took, and whether it failed.
define timed
	@start=$$(date +%s); trap 'code=$$?; [ $$code = 0 ] && end= || end=", FAILED"; echo "== $(1): $$(( $$(date +%s) - start )) s$$end"' EXIT; $(2)
endef

# cargo nextest where it is installed, cargo test elsewhere: the same tests.
NEXTEST := $(shell cargo nextest --version >/dev/null 2>&1 && echo yes)
ifeq ($(NEXTEST),yes)
  RUN_TESTS := cargo nextest run --workspace --locked --no-fail-fast
else
  RUN_TESTS := cargo test --workspace --locked --no-fail-fast
endif

# What is said in its place where cargo deny is not installed.
ifeq ($(shell cargo deny --version >/dev/null 2>&1 && echo yes),yes)
  DENY = cargo deny --locked
else
  DENY = echo 'skipped, because cargo deny is not installed (cargo install cargo-deny --locked):'
endif

.PHONY: help
help: ## List the commands
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | while IFS=$$'\t' read -r name text; do printf '  make %-14s %s\n' "$$name" "$$text"; done

# Where the runs of `make run` go.
EXAMPLE_DATA ?= target/example-data
EXAMPLE = cargo run --quiet --locked -p skillrun -- --data $(EXAMPLE_DATA)

.PHONY: run
run: ## Build, then run an example skill that asks a question
	cargo build --locked -p skillrun
	@echo
	@code=0; $(EXAMPLE) run examples/skills/name-a-release --engine scripted --mode interactive --input version=v2 --follow || code=$$?; \
	if [ $$code = 6 ]; then \
	  echo; echo "There is no terminal, so this command answers: skillrun reply last rivers"; echo; \
	  code=0; $(EXAMPLE) reply last rivers --follow || code=$$?; \
	fi; exit $$code

.PHONY: build
build: web ## Build the page and the release binary
	cargo build --release --locked -p skillrun

.PHONY: dist
dist: web ## Build the page and the binary to ship, target/dist/skillrun
	cargo build --profile dist --locked -p skillrun
	@echo "target/dist/skillrun: $$(( $$(stat -c %s target/dist/skillrun) / 1000000 )) MB"

.PHONY: test
test: ## Format, lint, documentation and all tests
	$(call timed,format,cargo fmt --all --check)
	$(call timed,page,$(WEB_BUILD))
	$(call timed,dependencies,$(DENY) --offline check bans licenses sources)
	$(call timed,build,cargo build --workspace --locked --all-targets)
	$(call timed,lint,cargo clippy --workspace --locked --all-targets -- -D warnings)
	$(call timed,docs,RUSTDOCFLAGS='-D warnings' cargo doc --workspace --locked --no-deps --document-private-items --quiet)
	$(call timed,tests,$(RUN_TESTS))
	$(call timed,api,$(API_CHECK))
	$(call timed,client,$(CLIENT_CHECK))
	$(call timed,page check,$(WEB_CHECK))
	$(call timed,browser,$(WEB_BROWSER))
	$(call timed,proof,$(PROOF_CHECK))

.PHONY: deny
deny: ## Check licenses, sources and advisories of the dependencies
	@# Not all of it in `make test`: advisories are fetched, and a new one would fail a change that has nothing to do with it.
	$(DENY) check

# The programs of proof/ themselves, one round of chaos, and a workflow that is killed at a few of its events. The plan of
# the round is always the same: what a new plan finds must not decide about a change that has nothing to do with it.
PROOF_CHECK = cd proof; python3 -m unittest discover --quiet -s tests -t .; python3 -m chaos --rounds 1 --seed 657826614 --skillrun ../target/debug/skillrun; \
	python3 -m kills --sample 3 --skillrun ../target/debug/skillrun

API_CHECK = python3 testkit/api/check.py target/debug/skillrun

.PHONY: api-check
api-check: ## Send requests generated from the OpenAPI document to the server
	cargo build --locked -p skillrun
	$(call timed,api,$(API_CHECK))

# The TypeScript client, tested against the program that was built last.
CLIENT_NPM = npm --prefix clients/typescript
CLIENT_INSTALL = $(CLIENT_NPM) ci --silent --no-audit --no-fund
CLIENT_CHECK = $(CLIENT_INSTALL); $(CLIENT_NPM) run --silent build; $(CLIENT_NPM) run --silent check; $(CLIENT_NPM) run --silent test

.PHONY: client
client: ## Build and test the TypeScript client against the server
	cargo build --locked -p skillrun
	$(call timed,client,$(CLIENT_CHECK))

# The web page. It is embedded in the program, so it is built first.
WEB_NPM = npm --prefix web
# Not `npm ci`: the lock file has the native parts of the builder for one platform, and `npm ci` requires all of them.
WEB_BUILD = $(WEB_NPM) install --no-save --silent --no-audit --no-fund; $(WEB_NPM) run --silent build -- --logLevel warn; $(WEB_NPM) run --silent size
WEB_CHECK = $(WEB_NPM) run --silent check; $(WEB_NPM) run --silent test
WEB_BROWSER = web/scripts/browser.sh; $(WEB_NPM) run --silent e2e

.PHONY: web
web: ## Build the web page, which the next build includes
	$(call timed,page,$(WEB_BUILD))

.PHONY: web-check
web-check: ## Check and test the web page, also in a browser
	$(call timed,page,$(WEB_BUILD))
	cargo build --locked -p skillrun
	$(call timed,page check,$(WEB_CHECK))
	$(call timed,browser,$(WEB_BROWSER))

.PHONY: pictures
pictures: ## Regenerate docs/pictures: the web page, and a terminal with tmux
	$(call timed,page,$(WEB_BUILD))
	cargo build --locked -p skillrun
	web/scripts/browser.sh; SKILLRUN_PICTURES=1 $(WEB_NPM) run --silent e2e -- pictures.spec.ts
	@# A third of the size, if the program for it is installed.
	if command -v pngquant >/dev/null; then pngquant --force --ext .png --quality 70-95 docs/pictures/*.png; fi

# The promises, under faults and over time. The programs are in proof/, their results in docs/proof.md.
CHAOS_MINUTES ?= 10
CHAOS_SEED ?=
SOAK_MINUTES ?= 10
FUZZ_SECONDS ?= 60
INTERLEAVINGS ?= 1000000

.PHONY: chaos
chaos: ## Inject random faults of all kinds; CHAOS_MINUTES, CHAOS_SEED
	cargo build --locked -p skillrun -p stand-ins
	cd proof && python3 -m chaos --minutes $(CHAOS_MINUTES) $(if $(CHAOS_SEED),--seed $(CHAOS_SEED)) --skillrun ../target/debug/skillrun
	cd proof && python3 -m kills --skillrun ../target/debug/skillrun

.PHONY: chaos-planted
chaos-planted: ## Plant faults in a copy and check that chaos finds each
	cd proof && python3 -m planted

.PHONY: workflow-kills
workflow-kills: ## Kill a workflow of ten steps at every event of its Log
	cargo build --locked -p skillrun -p stand-ins
	cd proof && python3 -m kills --skillrun ../target/debug/skillrun

.PHONY: kills
kills: ## Run the tests that kill at random moments, for longer
	cargo build --locked -p skillrun -p stand-ins
	SKILLRUN_CHAOS_ROUNDS=100 cargo test --locked -p skillrun --test processes -- capture::kill:: --nocapture
	SKILLRUN_CHAOS_ROUNDS=200 cargo test --locked -p skillrun --test processes -- owners::kill:: owners::children:: owners::families:: --nocapture

.PHONY: simulation
simulation: ## Run a million interleavings in virtual time; INTERLEAVINGS
	SKILLRUN_INTERLEAVINGS=$(INTERLEAVINGS) cargo test --profile dist --locked -p skillrun-runtime --lib -- simulation --nocapture
	SKILLRUN_INTERLEAVINGS=$(INTERLEAVINGS) cargo test --profile dist --locked -p skillrun-lifecycle --lib -- the_laws_of_workflows_hold

.PHONY: fuzz
fuzz: ## Fuzz every parser with hostile bytes; FUZZ_SECONDS each
	cargo build --locked -p skillrun -p stand-ins
	SKILLRUN_FUZZ_SECONDS=$(FUZZ_SECONDS) cargo test --locked -p skillrun --test fuzz -- --nocapture --test-threads 2

.PHONY: soak
soak: ## Run under steady load: memory must stay flat; SOAK_MINUTES
	cargo build --release --locked -p skillrun -p stand-ins
	cd proof && python3 -m soak --minutes $(SOAK_MINUTES) --skillrun ../target/release/skillrun

.PHONY: schemas
schemas: ## Regenerate schemas/ and the types of the client
	cargo build --locked -p skillrun
	mkdir -p schemas
	cargo run --quiet --locked -p skillrun -- schema rasp > schemas/rasp.schema.json
	cargo run --quiet --locked -p skillrun -- schema fcmp > schemas/fcmp.schema.json
	cargo run --quiet --locked -p skillrun -- schema openapi > schemas/openapi.json
	cargo run --quiet --locked -p skillrun -- schema workflow > schemas/workflow.schema.json
	cargo run --quiet --locked -p skillrun -- schema words > schemas/words.json
	cargo run --quiet --locked -p skillrun -- schema presenters > docs/presenters.md
	$(CLIENT_INSTALL)
	$(CLIENT_NPM) run --silent generate

.PHONY: e2e
e2e: ## Test real engines with a scripted model; writes docs/engines.md
	cargo run --quiet --locked -p e2e -- --write

.PHONY: verdicts
verdicts: ## Check scenarios on real engines against the verdicts of the contract
	cargo build --quiet --locked -p skillrun
	cd proof && python3 -m verdicts

.PHONY: e2e-quick
e2e-quick: ## Test the main scenarios with the installed engines
	@# Everything at once, as `make test` builds it: alone, it would be rebuilt with other features.
	cargo build --quiet --locked --workspace --all-targets
	target/debug/e2e --quick --skillrun $(CURDIR)/target/debug/skillrun

.PHONY: mcp-check
mcp-check: ## Test the MCP server with the official clients and the conformance suite
	cargo build --locked -p skillrun
	$(call timed,mcp,testkit/mcp/check.sh target/debug/skillrun)

.PHONY: bench
bench: dist ## Measure everything; writes docs/numbers.md
	cargo build --profile dist --locked -p bench
	@# Not in the folder for temporary files: creating files is slow where many were just removed.
	scratch=$$(mktemp -d "$$PWD/../skillrun-bench.XXXXXX"); trap 'rm -rf "$$scratch"' EXIT; TMPDIR=$$scratch target/dist/bench

.PHONY: bench-check
bench-check: dist ## Fail when an instruction count grew by more than 5 %
	cargo build --profile dist --locked -p bench
	target/dist/bench --check

.PHONY: guards
guards: ## Remove each guard of the box once and check that a test fails; changes the checkout meanwhile
	python3 testkit/guards.py

.PHONY: mutations
mutations: ## Break each rule of the gate once and check that a test fails
	python3 testkit/mutations.py
