# The one door: people and CI use the same words.
.PHONY: demo deb deny promtool test test-sdk test-crs soak matrix lint rules-table detection-world byte-pairs bench instructions fuzz fuzz-build load load-waf load-proxies load-soak packages

CARGO ?= cargo
APT := chromium cmake modsecurity-crs nginx-light wrk nghttp2-client nghttp2-server curl python3-venv valgrind bind9-dnsutils pebble openssl
TOOLS := chromium cmake nginx wrk nghttp nghttpd curl valgrind dig pebble openssl

demo: cmake
	$(CARGO) build --release
	exec ./target/release/portcullis demo

PROMTOOL := target/tmp/prometheus/usr/bin/promtool

# What checks alert rules; without its service.
promtool:
	@[ -x $(PROMTOOL) ] || { mkdir -p target/tmp && cd target/tmp && apt-get download prometheus >/dev/null 2>&1 \
		&& dpkg-deb -x prometheus_*.deb prometheus; } || echo "NOT RUN: promtool cannot be had here"

# A Debian package in target/deb.
deb: cmake
	$(CARGO) build --profile dist --locked
	conf/packages/deb target/dist/portcullis target/deb

test: packages promtool
	[ ! -x $(PROMTOOL) ] || export PROMTOOL=$(CURDIR)/$(PROMTOOL); $(CARGO) test --workspace --all-targets
	$(CARGO) test --workspace --doc
	@$(MAKE) --no-print-directory test-sdk test-crs

# What needs more than a new machine has says so, and is counted as ignored above.
test-sdk:
	@if python3 -m venv target/tmp/sdk 2>/dev/null \
		&& target/tmp/sdk/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 openai cloudflare schemathesis octodns-cloudflare; \
	then SDK_PYTHON=$(CURDIR)/target/tmp/sdk/bin/python SDK_SCHEMATHESIS=$(CURDIR)/target/tmp/sdk/bin/st \
		$(CARGO) test --test suite -- --ignored openai_sdk sdk_for_python schemathesis octodns; \
	else echo "NOT RUN: the Python SDKs cannot be installed here"; fi
	@if command -v npm >/dev/null && mkdir -p target/tmp/js-sdk \
		&& npm install --silent --no-fund --no-audit --prefix target/tmp/js-sdk cloudflare axe-core ai@7 ai-gateway-provider@4 @ai-sdk/openai@4 @ai-sdk/deepseek@3 >/dev/null 2>&1; \
	then SDK_NODE=$(CURDIR)/target/tmp/js-sdk AXE=$(CURDIR)/target/tmp/js-sdk/node_modules/axe-core/axe.min.js \
		$(CARGO) test --test suite -- --ignored sdk_for_javascript no_view_has_an_error; \
	else echo "NOT RUN: the JavaScript SDKs and axe-core cannot be installed here"; fi

test-crs:
	@if [ -n "$$CRS_DIR" ]; then $(CARGO) test --test suite -- --ignored 4_28_0; \
	else echo "NOT RUN: the suite of the Core Rule Set v4.28.0 needs CRS_DIR, a checkout of it"; fi

# 10,000 reloads under load, of which `make test` makes 500.
soak: packages
	RELOADS=10000 $(CARGO) test --test suite many_reloads -- --nocapture

# Every feature with every body, framing, client and origin, of which `make test` runs a sample.
matrix: packages
	MATRIX=whole $(CARGO) test --test matrix -- --nocapture

lint: cmake
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items

# Known faults, licences and sources of all dependencies, as deny.toml says what they may be.
deny:
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check

# What the default rules detect and refuse wrongly, by family, at three paranoia levels.
rules-table: cmake
	$(CARGO) build --release --bin portcullis
	@for level in 1 2 4; do echo "paranoia level $$level"; for kind in attacks benign; do \
		./target/release/portcullis waf test --rules rules/owasp --tests tests/data/owasp/$$kind \
		--paranoia-level $$level --table; done; done

# What the rules for sensitive data report in public trees that nobody tuned them to.
detection-world: cmake
	$(CARGO) build --release --bin portcullis
	benches/world/run

# How common bytes are in texts of Debian packages, by which the scanner chooses what it looks for.
byte-pairs:
	benches/world/byte_pairs

bench: cmake
	$(CARGO) bench --workspace --bench '*'

# What the engine takes, in instructions: fails where a case takes 5 % more than recorded. With
# RECORD=--record the figures are written anew.
instructions: packages
	@# Incremental builds are cut into more units, which costs up to 8 % of the instructions.
	CARGO_INCREMENTAL=0 $(CARGO) bench -p seclang --bench waf_instructions -- $(RECORD)

load: packages
	benches/load/run

# The Core Rule Set here and in nginx with ModSecurity; CRS_DIR adds v4.28.0.
load-waf: packages
	@[ -f /usr/include/modsecurity/modsecurity.h ] || $(MAKE) --no-print-directory install MISSING=" ModSecurity" PACKAGES="libnginx-mod-http-modsecurity libmodsecurity-dev"
	benches/load/waf

# Pages of three sizes through nginx, HAProxy, a bare Pingora proxy and Portcullis.
load-proxies: packages
	@command -v haproxy >/dev/null || $(MAKE) --no-print-directory install MISSING=" HAProxy" PACKAGES=haproxy
	@command -v h2load >/dev/null || $(MAKE) --no-print-directory install MISSING=" h2load" PACKAGES=nghttp2-client
	benches/load/proxies

# Two hours under load while origins die and stall, settings change and the clock jumps.
load-soak: packages
	@command -v h2load >/dev/null || $(MAKE) --no-print-directory install MISSING=" h2load" PACKAGES=nghttp2-client
	@command -v dnsperf >/dev/null || $(MAKE) --no-print-directory install MISSING=" dnsperf" PACKAGES=dnsperf
	@command -v faketime >/dev/null || $(MAKE) --no-print-directory install MISSING=" faketime" PACKAGES=faketime
	benches/load/soak --svg target/soak.svg

# On stable, without sanitizers: that the targets build.
fuzz-build: cmake
	cd tests/fuzz && $(CARGO) check --quiet --target-dir ../../target

# 60 seconds each, on nightly; new findings are written to tests/fuzz/artifacts.
FUZZ_SECONDS ?= 60
fuzz: cmake
	@command -v cargo-fuzz >/dev/null || $(CARGO) install cargo-fuzz
	cd tests/fuzz && for target in $$($(CARGO) +nightly fuzz list --fuzz-dir .); do \
		$(CARGO) +nightly fuzz run --fuzz-dir . $$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; done

# cmake builds a dependency; the rest are real parts that tests run against.
cmake:
	@command -v cmake >/dev/null || $(MAKE) --no-print-directory install MISSING=cmake PACKAGES=cmake

packages:
	@missing=""; for tool in $(TOOLS); do command -v $$tool >/dev/null || [ -x /usr/sbin/$$tool ] || missing="$$missing $$tool"; done; \
	[ -d /usr/share/modsecurity-crs/rules ] || missing="$$missing modsecurity-crs"; \
	[ -z "$$missing" ] || $(MAKE) --no-print-directory install MISSING="$$missing" PACKAGES="$(APT)"

.PHONY: install cmake
install:
	@if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(PACKAGES) >/dev/null; \
	else echo "missing:$(MISSING). On Debian: sudo apt-get install $(PACKAGES)"; exit 1; fi
