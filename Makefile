# make             build/tilec, build/libtilec.a, build/libtilec.so
# make run         installs what is missing, builds, runs the corpus
# make test        installs what is missing, builds, runs every test
# make portable    installs what is missing, and builds build/tilec-portable: one executable that needs only the C library, and opens what else it uses while it runs
# make install     PREFIX=/usr/local DESTDIR=
# make asan        the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
# make fuzz        libFuzzer on the front end, FUZZ_SECONDS=600 (needs clang)
# make mutate      broken versions of the proved kernels, judged by the prover and the simulator: MUTANTS=1000, 0 for every one
# make measure     new rows of the standing suite, into bench/results (best on a quiet machine)
# make reproduce   README.md's table, bench/report.html, bench/findings.html and figures from the committed rows, without a device
# make verify      the newest rows against bench/expected.json
# make check-format, make clean
# BUILD= another build folder; CC= another compiler; SANITIZE=address,undefined; CFLAGS= and LDFLAGS= add to the flags.

BUILD ?= build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
MUTANTS ?= 1000
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ifeq ($(origin CC),default)
CC := cc
endif

# No contraction: the oracle and the number formats rely on each operation rounding by itself.
flags := -std=c17 -D_XOPEN_SOURCE=700 -O2 -g -Wall -Wextra -Wpedantic -fPIC -fvisibility=hidden -ffp-contract=off -Isrc -Iinclude
link := -Wl,--as-needed
libraries := -lisl -lxxhash -ljansson -ldl -lm -lpthread -lrt
ifdef SANITIZE
flags += $(if $(COVERAGE_FUZZER),-O1,-O0) -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
link += -fsanitize=$(SANITIZE)
endif
ifdef COVERAGE_FUZZER
flags += -fsanitize=fuzzer-no-link
endif

# LLVM stands behind src/lift/llvm*.c, in a plugin of its own, which is built where LLVM is there.
plugin_sources := $(sort $(wildcard src/lift/llvm*.c))
sources := $(sort $(filter-out src/main.c $(plugin_sources),$(shell find src -name '*.c')))
objects := $(sources:%.c=$(BUILD)/%.o)
unit_sources := $(sort $(wildcard test/unit/test_*.c))
unit_programs := $(unit_sources:test/unit/%.c=$(BUILD)/unit/%)
program := $(if $(wildcard src/main.c),$(BUILD)/tilec)
LLVM_CONFIG ?= $(firstword $(foreach v,19 20 21 18 17,$(shell command -v llvm-config-$(v) 2> /dev/null)))
plugin := $(if $(LLVM_CONFIG),$(if $(wildcard $(shell $(LLVM_CONFIG) --includedir 2> /dev/null)/llvm-c/Core.h),$(BUILD)/tilec-lift.so))
# A sub-make uses every core, unless this make was given a number of its own.
parallel = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))

.PHONY: all portable compile print-flags unit values mutation mutate run test exhaustive asan asan-unit fuzz fuzz-programs measure reproduce verify install check-format clean force
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

all: $(program) $(plugin) $(BUILD)/libtilec.a $(BUILD)/libtilec.so

$(BUILD)/tilec: $(BUILD)/src/main.o $(BUILD)/libtilec.a
	$(CC) $(link) $(LDFLAGS) -o $@ $^ $(libraries)

$(BUILD)/libtilec.a: $(objects) $(BUILD)/sources
	@rm -f $@
	ar rcs $@ $(objects)

$(BUILD)/libtilec.so: $(objects) $(BUILD)/sources
	$(CC) -shared $(link) $(LDFLAGS) -o $@ $(objects) $(libraries)

# Without the sanitizers, whose own copies of what it shares with the program would meet.
$(BUILD)/tilec-lift.so: $(plugin_sources) src/lift/llvm.h src/lift/module.h src/base/arena.c src/base/text.c $(BUILD)/flags
	$(CC) $(filter-out -fsanitize=% -fno-sanitize-recover=%,$(flags)) -isystem $(shell $(LLVM_CONFIG) --includedir) -shared -Wl,--as-needed $(LDFLAGS) -o $@ \
	    $(plugin_sources) src/base/arena.c src/base/text.c -L$(shell $(LLVM_CONFIG) --libdir) $(shell $(LLVM_CONFIG) --link-shared --libs)

# isl, gmp, xxhash and jansson inside; drivers, compilers and Python are looked for while it runs (scripts/setup.sh has their archives).
# A program built on an old system runs on newer ones: the symbols it asks of the C library are those of where it was linked.
portable:
	@scripts/setup.sh portable
	@$(MAKE) --no-print-directory -s $(parallel) $(BUILD)/tilec-portable
$(BUILD)/tilec-portable: $(BUILD)/src/main.o $(BUILD)/libtilec.a
	$(CC) $(link) -static-libgcc $(LDFLAGS) -o $@ $^ -Wl,-Bstatic -lisl -lgmp -lxxhash -ljansson -Wl,-Bdynamic -ldl -lm -lpthread -lrt

# What the compiler said is kept beside the object, for the warnings test.
$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(flags) $(CFLAGS) -MMD -MP -c -o $@ $< 2> $(@:.o=.said); status=$$?; cat $(@:.o=.said) >&2; exit $$status

# The adapter of Python arms, a line a C string.
$(BUILD)/generated/adapter.inc: src/bench/adapter.py
	@mkdir -p $(@D)
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n",/' $< > $@
$(BUILD)/src/bench/arm_python.o: $(BUILD)/generated/adapter.inc
# private: what is recorded in $(BUILD)/flags must not depend on how the folder is spelt
$(BUILD)/src/bench/arm_python.o: private flags += -I$(BUILD)/generated

# Files inside the program, a name and its lines each: the kernels that come with tilec, for where their folder is not, and what Metal's host programs share.
kernel_files := $(sort $(wildcard kernels/*.tile))
metal_kit_files := $(sort $(wildcard kits/metal/*))
embed = @mkdir -p $(@D) && for file in $(1); do printf '{"%s", (const char *const[]){\n' "$${file\#\#*/}"; \
	    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n",/' "$$file"; echo 'NULL}},'; done > $@
$(BUILD)/generated/kernels.inc: $(kernel_files) Makefile
	$(call embed,$(kernel_files))
device_files := $(sort $(wildcard bench/devices/*.json))
$(BUILD)/generated/devices.inc: $(device_files) Makefile
	$(call embed,$(device_files))
probe_kit_files := $(sort $(wildcard kits/probe/*))
$(BUILD)/generated/probe_kit.inc: $(probe_kit_files) Makefile
	$(call embed,$(probe_kit_files))
$(BUILD)/src/probe/kit.o: $(BUILD)/generated/probe_kit.inc
$(BUILD)/generated/metal_kit.inc: $(metal_kit_files) Makefile
	$(call embed,$(metal_kit_files))
# The headers with which other people's kernels are read.
shim_files := $(sort $(wildcard src/lift/shim/*))
$(BUILD)/generated/shim.inc: $(shim_files) Makefile
	$(call embed,$(shim_files))
$(BUILD)/src/lift/shim.o: $(BUILD)/generated/shim.inc
$(BUILD)/src/command/library.o: $(BUILD)/generated/kernels.inc
$(BUILD)/src/target/device_description.o: $(BUILD)/generated/devices.inc
$(BUILD)/src/target/metal_kit.o: $(BUILD)/generated/metal_kit.inc
$(BUILD)/src/command/library.o $(BUILD)/src/target/metal_kit.o $(BUILD)/src/target/device_description.o $(BUILD)/src/probe/kit.o $(BUILD)/src/lift/shim.o: private flags += -I$(BUILD)/generated

# What was built with other flags, or holds a source since removed, is built again.
$(BUILD)/flags: force
	@mkdir -p $(@D)
	@echo '$(CC) $(flags) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(flags) $(CFLAGS)' > $@
$(BUILD)/sources: force
	@mkdir -p $(@D)
	@echo '$(sources)' | cmp -s - $@ || echo '$(sources)' > $@

# Everything compiled, nothing linked: what the warnings test asks for.
compile: $(objects) $(if $(program),$(BUILD)/src/main.o) $(unit_sources:%.c=$(BUILD)/%.o) \
    $(patsubst %.c,$(BUILD)/%.o,$(filter-out test/run/_%,$(wildcard test/run/*.c)) $(wildcard test/run/trial/*.c test/mutate/*.c))

print-flags:
	@echo '$(CC) $(flags) $(CFLAGS)'

unit: $(unit_programs)

# Value suites: test/run/X.c (not beginning with `_`), each a program, with what they share in test/run/trial.
trial_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard test/run/trial/*.c))
values: $(patsubst test/run/%.c,$(BUILD)/values/%,$(filter-out test/run/_%,$(wildcard test/run/*.c)))
$(BUILD)/values/%: $(BUILD)/test/run/%.o $(trial_objects) $(BUILD)/libtilec.a
	@mkdir -p $(@D)
	$(CC) $(link) $(LDFLAGS) -o $@ $^ $(libraries)

# Mutation: test/mutate, one program, which test/mutate/mutate.sh runs.
mutation: $(BUILD)/mutate
$(BUILD)/mutate: $(patsubst %.c,$(BUILD)/%.o,$(wildcard test/mutate/*.c)) $(BUILD)/libtilec.a
	$(CC) $(link) $(LDFLAGS) -o $@ $^ $(libraries)
mutate: mutation
	@mkdir -p '$(BUILD)/mutants'
	@$(BUILD)/mutate --count $(MUTANTS) --keep '$(BUILD)/mutants'

$(BUILD)/unit/%: $(BUILD)/test/unit/%.o $(BUILD)/libtilec.a
	@mkdir -p $(@D)
	$(CC) $(link) $(LDFLAGS) -o $@ $^ -lcmocka $(libraries)

run:
	@scripts/setup.sh build
	@$(MAKE) --no-print-directory -s $(parallel) all
	@$(BUILD)/tilec corpus

test:
	@scripts/setup.sh test
	@$(MAKE) --no-print-directory -s $(parallel) all unit values mutation
	@$(MAKE) --no-print-directory -s $(parallel) asan-unit
	@BUILD='$(BUILD)' scripts/test.sh $(SUITES)

asan-unit:
	@$(MAKE) --no-print-directory BUILD='$(BUILD)/asan' SANITIZE=address,undefined unit

asan: asan-unit
	@BUILD='$(BUILD)' scripts/test.sh asan

# The functions of tilec's own arithmetic over all 2^32 floats: minutes on every core.
exhaustive: $(BUILD)/unit/test_math
	TILEC_EXHAUSTIVE=all $(BUILD)/unit/test_math

# Each fuzz program defines LLVMFuzzerTestOneInput; its corpus grows in $(BUILD)/fuzz/corpus.
fuzz:
	@scripts/setup.sh fuzz
	@$(MAKE) --no-print-directory $(parallel) BUILD='$(BUILD)/fuzz' CC=clang SANITIZE=address,undefined COVERAGE_FUZZER=1 fuzz-programs
	@BUILD='$(BUILD)' FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh

fuzz-programs: $(patsubst test/fuzz/%.c,$(BUILD)/run/%,$(wildcard test/fuzz/*.c))
$(BUILD)/run/%: $(BUILD)/test/fuzz/%.o $(BUILD)/libtilec.a
	@mkdir -p $(@D)
	$(CC) $(link) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(libraries)

# The Python of the NumPy arm is the first of python3 on the path and the system's own that has NumPy.
MEASURE ?= --suite bench/standard.json
measure: all
	@if [ -z "$$TILEC_PYTHON" ] && ! python3 -c 'import numpy' 2> /dev/null; then export TILEC_PYTHON=/usr/bin/python3; fi; \
	    $(BUILD)/tilec bench $(MEASURE)

reproduce: all
	@$(BUILD)/tilec bench --reproduce
	@$(BUILD)/tilec probe --report bench/findings.html --store bench/findings
	@for file in $(device_files); do \
	    $(BUILD)/tilec probe --describe "$$(sed -n 's/^ "name": "\(.*\)",*$$/\1/p' "$$file")" --store bench/findings > "$$file.new" && mv "$$file.new" "$$file" || exit 1; done

verify: all
	@$(BUILD)/tilec bench --verify bench/expected.json

install: all
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/lib/pkgconfig' '$(DESTDIR)$(PREFIX)/include' \
	    '$(DESTDIR)$(PREFIX)/share/tilec/kernels'
	install -m 755 $(BUILD)/tilec '$(DESTDIR)$(PREFIX)/bin/'
	install -m 644 $(BUILD)/libtilec.a '$(DESTDIR)$(PREFIX)/lib/'
	install -m 755 $(BUILD)/libtilec.so '$(DESTDIR)$(PREFIX)/lib/'
	$(if $(plugin),install -d '$(DESTDIR)$(PREFIX)/lib/tilec' && install -m 755 $(plugin) '$(DESTDIR)$(PREFIX)/lib/tilec/')
	$(if $(wildcard include/*.h),install -m 644 $(wildcard include/*.h) '$(DESTDIR)$(PREFIX)/include/')
	$(if $(wildcard kernels/*.tile),install -m 644 $(wildcard kernels/*.tile) '$(DESTDIR)$(PREFIX)/share/tilec/kernels/')
	printf 'prefix=%s\nName: tilec\nDescription: Safe tile kernels\nVersion: 0.1\nCflags: -I$${prefix}/include\nLibs: -L$${prefix}/lib -ltilec\nLibs.private: %s\n' \
	    '$(PREFIX)' '$(libraries)' > '$(DESTDIR)$(PREFIX)/lib/pkgconfig/tilec.pc'

check-format:
	@command -v clang-format > /dev/null || { echo 'make check-format needs clang-format: apt-get install clang-format'; exit 1; }
	@clang-format --dry-run -Werror $$(find src include test -name '*.[ch]' -not -path 'test/golden/*' -not -path 'test/shim/*')

clean:
	rm -rf '$(BUILD)'

-include $(shell test -d '$(BUILD)' && find '$(BUILD)/src' '$(BUILD)/test' -name '*.d' 2>/dev/null)
