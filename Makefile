# `make demo` and `make test` are all that one needs to know. Both first install what this machine lacks.

# A Rust toolchain that rustup installed without changing the shell's settings is found all the same.
export PATH := $(PATH):$(HOME)/.cargo/bin

TARGET := $(or $(CARGO_TARGET_DIR),target)

.DEFAULT_GOAL := help
.PHONY: help demo test test-timing build install lint bootstrap simulations msrv

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: bootstrap ## start a real Kafka broker here, run the latency experiment on it, write a report
	cargo build --release -p plumb-cli
	$(TARGET)/release/plumb demo

# Most tests wait for brokers, so that more of them at once than there are processors end earlier; more than twice as many make
# some fail by their load alone. What asserts exact times runs last, one after another.
TEST_THREADS ?= $(shell threads=$$(nproc); [ "$$threads" -ge 4 ] || threads=4; echo "$$threads")

test: lint ## everything that has to hold: format, lints, all tests (TEST_THREADS at once: as many as processors, at least 4)
	scripts/bootstrap-prometheus
	cargo test --workspace --no-fail-fast -- --test-threads $(TEST_THREADS) --skip timing:: || failed=1; \
	$(TEST_TIMING) && [ -z "$$failed" ]

# Of the whole workspace, as above: for one package alone its libraries would be built again.
TEST_TIMING = cargo test --workspace --test end_to_end timing:: -- --test-threads 1

test-timing: bootstrap ## only the tests of exact times, on a machine that does nothing else (minutes)
	$(TEST_TIMING)

build: bootstrap ## the program, optimised, into target/release or CARGO_TARGET_DIR
	cargo build --release -p plumb-cli

PREFIX ?= /usr/local

SHARE = $(DESTDIR)$(PREFIX)/share
COMPLETIONS = $(SHARE)/bash-completion/completions/plumb $(SHARE)/zsh/site-functions/_plumb $(SHARE)/fish/vendor_completions.d/plumb.fish

install: build ## the program, its manual pages and completions into PREFIX (/usr/local), below DESTDIR where one is given
	install -D -m 755 $(TARGET)/release/plumb $(DESTDIR)$(PREFIX)/bin/plumb
	$(TARGET)/release/plumb --quiet man $(SHARE)/man/man1
	mkdir -p $(dir $(COMPLETIONS))
	$(TARGET)/release/plumb completions bash > $(word 1,$(COMPLETIONS))
	$(TARGET)/release/plumb completions zsh > $(word 2,$(COMPLETIONS))
	$(TARGET)/release/plumb completions fish > $(word 3,$(COMPLETIONS))

lint: bootstrap ## format and lints only
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

simulations: bootstrap ## coverage and false-positive simulations of the statistics (minutes)
	cargo test --release -p plumb-stats -p plumb-judge -- --ignored

msrv: bootstrap ## whether the oldest Rust that Cargo.toml promises still builds everything
	cargo +$(shell sed -n 's/^rust-version = "\(.*\)"$$/\1.0/p' Cargo.toml) check --workspace --all-targets

bootstrap: ## install what this machine lacks (Debian, Ubuntu)
	@scripts/bootstrap

.PHONY: test-diagnose
test-diagnose: bootstrap ## a broker without AES instructions is named by plumb diagnose, one with them is not (two minutes)
	cargo test --workspace --test end_to_end diagnose:: -- --include-ignored --test-threads 1

.PHONY: bench-latency-floor
bench-latency-floor: bootstrap ## Plumb's latencies beside those of a bare librdkafka loop, on one broker
	cargo run --release -p plumb-bench-latency-floor -- $(BENCH_ARGS)

.PHONY: bench-produce-cost bench-consume-cost
bench-produce-cost: bootstrap ## what a produced message costs: Plumb beside Kafka's tool, librdkafka's and franz-go
	cargo run --release -p plumb-bench-produce-cost

bench-consume-cost: bootstrap ## what a consumed message costs: the same tools, reading
	cargo run --release -p plumb-bench-consume-cost

.PHONY: bench-driver-cost
bench-driver-cost: build ## what the protocol of external drivers costs, and the client for Java beside Kafka's perf test (needs python3, half an hour; BENCH_ARGS="--rounds 10")
	bench/driver-cost --program $(TARGET)/release/plumb $(BENCH_ARGS)

.PHONY: bench-worker-kills bench-coordinator-cost
bench-worker-kills: build ## kills workers and runs at random moments, and looks at what is left (needs python3, 20 minutes)
	bench/worker-kills --program $(TARGET)/release/plumb $(BENCH_ARGS)

bench-coordinator-cost: build ## CPU time of a run whose clients are run by up to 50 workers (needs python3, five minutes)
	bench/coordinator-cost --program $(TARGET)/release/plumb $(BENCH_ARGS)

.PHONY: test-kubernetes
test-kubernetes: build ## what `plumb worker manifest` prints, held against a real Kubernetes API server (needs python3 and Go; the first time half an hour)
	scripts/kubernetes-dry-run --program $(TARGET)/release/plumb

.PHONY: bench-crypto
bench-crypto: bootstrap ## Plumb's crypto rates beside openssl speed's, with and without the processor's instructions (minutes)
	cargo run --release -p plumb-bench-crypto-against-openssl

.PHONY: devices
devices: bootstrap ## log devices of different speed, on loop devices (needs root, minutes)
	cargo test -p plumb-report install::directory -- --ignored
	scripts/devices cargo test -p plumb-session observe::limits -- --include-ignored
	scripts/devices cargo test -p plumb-cli --test end_to_end -- devices:: log_dirs:: --skip probe_storage --include-ignored --test-threads 1

.PHONY: long-run
long-run: bootstrap ## whether the program's memory stays the same over long runs (PLUMB_LONG_RUN_S seconds each, 180)
	cargo test -p plumb-cli --test end_to_end long_run:: -- --ignored --nocapture --test-threads 1

.PHONY: trials
trials: bootstrap ## trials and searches on real brokers whose truth is known, on a machine that does nothing else (needs root, an hour)
	cargo test --release -p plumb-cli --test end_to_end -- trial:: search::kafka:: --include-ignored --test-threads 1

.PHONY: faults
faults: bootstrap ## brokers killed and restarted under load, with both drivers (minutes)
	cargo test -p plumb-cli --test end_to_end faults:: -- --include-ignored --test-threads 1

# One in a hundred of all mutants of these crates (MUTANTS_SHARD), or those of the files in MUTANTS. Each is built and tested by
# the unit tests of its crate.
MUTANTS_SHARD ?= $(if $(MUTANTS),0/1,0/100)

.PHONY: mutants
mutants: bootstrap ## whether unit tests notice changed code: 1 in 100 mutants of judge, load, model, fleet, or MUTANTS='FILE...' (half an hour; MUTANTS_SHARD=1/100 are others)
	scripts/bootstrap-mutants
	PATH="$${XDG_CACHE_HOME:-$$HOME/.cache}/plumb/mutants/bin:$$PATH" cargo mutants -p plumb-judge -p plumb-load -p plumb-model -p plumb-fleet \
	  $(addprefix --file ,$(MUTANTS)) --shard $(MUTANTS_SHARD) --sharding round-robin --jobs 1 --timeout 120 --output $(TARGET) -- --lib

.PHONY: fuzz
fuzz: ## every decoder of bytes from the network on made-up bytes, FUZZ_S seconds each (60; needs nightly and cargo-fuzz)
	cd crates/wire/fuzz && cargo run -q --example write_seeds
	cd crates/wire/fuzz && for target in $$(cargo +nightly fuzz list --fuzz-dir .); do \
	  cargo +nightly fuzz run --fuzz-dir . $$target -- -max_total_time=$${FUZZ_S:-60} -max_len=16384 -malloc_limit_mb=64 || exit 1; \
	done

.PHONY: probe-storage bench-fsync-against-fio
probe-storage: bootstrap ## the storage probe on file systems of known kind, speed and fault, on loop devices (needs root, a minute)
	scripts/bootstrap-storage
	cargo test -p plumb-cli --test end_to_end --no-run
	scripts/storage-devices cargo test -p plumb-cli --test end_to_end probe_storage::devices -- --include-ignored --test-threads 1

bench-fsync-against-fio: bootstrap ## Plumb's commit rates beside those of fio and pg_test_fsync, in BENCH_DIR (this directory) and, as root, on devices in memory and of set speed (half an hour; less with BENCH_WORDS='--method fsync --rounds 6')
	scripts/bootstrap-storage
	cargo build --release -p plumb-cli -p plumb-bench-fsync-against-fio
	$(TARGET)/release/plumb-bench-fsync-against-fio --path $(or $(BENCH_DIR),.) $(BENCH_WORDS)
	scripts/ram-disk sh -c '$(TARGET)/release/plumb-bench-fsync-against-fio --device memory --path "$$PLUMB_RAM_DIR" $(BENCH_WORDS)' || [ $$? -eq 3 ]
	scripts/set-speed sh -c '$(TARGET)/release/plumb-bench-fsync-against-fio --device set-speed --seconds 2 --rounds 6 --path "$$PLUMB_SET_SPEED_DIR" $(BENCH_WORDS)' || [ $$? -eq 3 ]

# What the machine cannot have is left out with the reason (exit code 3), and that is no failure.
.PHONY: test-hardware
test-hardware: bootstrap ## what plumb says of disks and processors that are not here: loop devices, virtual machines without KVM (needs root, minutes)
	cargo test --release -p plumb-cli --test end_to_end --no-run
	[ "$$(id -u)" -ne 0 ] || cargo test --release -p plumb-cli --test end_to_end probe_network:: -- --include-ignored
	scripts/bootstrap-storage && scripts/storage-devices cargo test --release -p plumb-cli --test end_to_end probe_storage::devices -- --include-ignored --test-threads 1 || [ $$? -eq 3 ]
	scripts/hardware-lab cargo test --release -p plumb-cli --test end_to_end hardware:: -- --include-ignored --test-threads 1 || [ $$? -eq 3 ]

.PHONY: bench-fleet-scale
bench-fleet-scale: bootstrap ## a fleet of 20,000 servers over 14 days from Parquet: Plumb beside DuckDB, Polars and pandas (5 GB of memory, minutes; BENCH_ARGS="--tools plumb,duckdb")
	scripts/bootstrap-fleet-scale
	cargo build --release -p plumb-cli -p plumb-bench-fleet-scale
	"$${CARGO_TARGET_DIR:-target}/release/plumb-bench-fleet-scale" $(BENCH_ARGS)

# Results stay, and the same command goes on from where it was stopped.
MATRIX_PYTHON = $${XDG_CACHE_HOME:-$$HOME/.cache}/plumb/diagnose-matrix/venv/bin/python
MATRIX = PLUMB="$(abspath $(TARGET))/release/plumb" $(MATRIX_PYTHON) bench/diagnose-matrix/matrix.py
RESULTS ?= $(TARGET)/diagnose-matrix

.PHONY: diagnose-matrix diagnose-matrix-quick
diagnose-matrix: build ## what plumb diagnose names first when a known fault is injected, on real brokers (needs root, an hour; MATRIX_ARGS="--repeat 3")
	PLUMB="$(abspath $(TARGET))/release/plumb" scripts/bootstrap-diagnose-matrix
	$(MATRIX) run --results $(RESULTS) $(MATRIX_ARGS)
	$(MATRIX) score --results $(RESULTS) --markdown docs/diagnosis-matrix.md

diagnose-matrix-quick: build ## five faults and three healthy paths of it (needs root, less than 5 minutes)
	PLUMB="$(abspath $(TARGET))/release/plumb" scripts/bootstrap-diagnose-matrix
	$(MATRIX) run --quick --results $(RESULTS)-quick $(MATRIX_ARGS)
	$(MATRIX) score --results $(RESULTS)-quick

.PHONY: tune-ansible
tune-ansible: bootstrap ## the Ansible role of plumb tune export on eight hosts made of namespaces, over ssh (needs root, minutes)
	scripts/bootstrap-ansible
	cargo build -p plumb-cli
	scripts/tune-ansible $(TARGET)/debug/plumb
