# shadowsocks, one executable. GNU make; `make help` lists what there is to make.
#
# One FLAVOUR is built per run, each into a directory B of its own with its objects in $(B)/obj:
# plain (build), san (build/san), fuzz (build/fuzz), static (build/static), musl (build/musl).
# Targets that need another flavour call make again. CC, CFLAGS, CPPFLAGS and LDFLAGS are yours.

VERSION := 0.1.0
PREFIX ?= /usr/local
bindir ?= $(PREFIX)/bin
mandir ?= $(PREFIX)/share/man
FUZZ_SECONDS ?= 20
FUZZ_RUNS ?= 1000000
WITHOUT_MAX := 333000
SIZE_MAX := 412000

OBJCOPY ?= objcopy
LLVM_OBJCOPY ?= llvm-objcopy
PKG_CONFIG ?= pkg-config
MUSL_CC ?= musl-gcc
PYTHON ?= python3
TEST_PYTHON ?= $(or $(shell sh tests/python.sh),false)

FLAVOUR := $(if $(SAN),san,$(or $(FLAVOUR),plain))
B := build$(if $(filter musl,$(FLAVOUR)),/$(or $(TARGET),musl),$(patsubst %,/%,$(filter-out plain,$(FLAVOUR)))$(POLLER:%=/%))

# TARGET=T, with the flavour musl: for another machine
include dist/static/targets.mk
cross := $(if $(filter musl,$(FLAVOUR)),$(TARGET))

# with the sanitizers, the optimiser takes longer than what it saves
CFLAGS ?= $(if $(filter san,$(FLAVOUR)),-O1 -g1,-O2$(if $(cross),, -g))

MAKEFLAGS += --no-builtin-rules --no-print-directory
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

# --- sources: whatever lies in the four directories, less the files of other platforms

# which system and CPU, only the compiler knows: it may be a cross compiler, or CFLAGS may say -m32.
# X_anycpu.c stands in where there is no X of its own, X_macos.c for X_bsd.c or X.c.
macros := $(shell $(if $(filter musl,$(FLAVOUR)),$(musl_cc),$(CC)) $(CPPFLAGS) $(CFLAGS) -dM -E -x c /dev/null)
os := $(if $(findstring __linux__,$(macros)),linux,$(if $(findstring __APPLE__,$(macros)),macos,bsd))
POLLER ?= $(if $(filter linux,$(os)),epoll,kqueue)
cpu := $(if $(findstring __x86_64__,$(macros)),x86,$(if $(findstring __aarch64__,$(macros)),arm,any))
macos := $(wildcard core/*_macos.c net/*_macos.c)
other := $(if $(filter linux,$(os)),%_bsd.c,%_linux.c) $(filter-out %_$(POLLER).c,%_epoll.c %_kqueue.c) \
	$(if $(filter macos,$(os)),$(macos:%_macos.c=%_bsd.c) $(macos:%_macos.c=%.c),$(macos)) \
	$(filter-out %_$(cpu).c,%_x86.c %_arm.c) \
	$(patsubst %_$(cpu).c,%_anycpu.c,$(wildcard crypto/*_$(cpu).c))
# less the parts that WITHOUT names
include dist/without.mk
absent := $(foreach part,$(without),$(files.$(part))) $(if $(without),,applets/features.c)
lib_sources := $(filter-out $(other) $(absent),$(sort $(wildcard core/*.c crypto/*.c net/*.c applets/*.c)))
# On Linux, kqueue is a small one of the tests' own, for the tests; with it come the other files for
# such systems, as far as they run here and nothing but speed is lost.
linux_only := core/poller_epoll core/fd core/process_ids core/pages_linux net/datagram_linux net/socket_linux net/splice_linux
elsewhere := core/poller_kqueue core/fd_macos core/process_ids_macos core/pages_bsd net/datagram_bsd net/splice_bsd \
	tests/kqshim/kqshim tests/kqshim/socket_options
ifeq ($(os)$(POLLER),linuxkqueue)
lib_sources := $(filter-out $(linux_only:%=%.c) core/poller_kqueue.c,$(lib_sources)) $(elsewhere:%=%.c)
endif
lib_objects := $(lib_sources:%.c=$(B)/obj/%.o)
links := ss-local ss-server ss-tunnel ss-redir ss-manager ss-key ss-nat ss-acl ss-ctl ss-ping ss-check ss-url
absent_links := $(foreach part,$(without),$(names.$(part)))
links := $(filter-out $(absent_links),$(links))

# --- flags: ours come first, so that the user's have the last word

ld.elf := -Wl,-z,relro,-z,now -Wl,--gc-sections
ld.macho := -Wl,-dead_strip

ours := -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -I. -ffile-prefix-map=$(CURDIR)=.
ours += -DSS_VERSION='"$(VERSION)"' $(if $(without),-DSS_WITHOUT)
ours += -Wall -Wextra -Wshadow $(if $(WERROR),-Werror)
ours += -fPIE -fstack-protector-strong -ffunction-sections -fdata-sections
ours_ld := $(if $(filter macos,$(os)),$(ld.macho),$(ld.elf))

# libc's checked reads and writes need the optimiser, and stand in the sanitizers' way
fortify := $(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)

# from pkg-config where there is a .pc file; mbedtls has none before 3.6
package_cflags = $(shell $(PKG_CONFIG) --cflags $1 2>/dev/null)
package_libs = $(or $(shell $(PKG_CONFIG) --libs $1 2>/dev/null),$2)
libs_cflags := $(foreach p,libsodium mbedcrypto libcares,$(call package_cflags,$p))
libs := $(call package_libs,libsodium,-lsodium) $(call package_libs,mbedcrypto,-lmbedcrypto) \
	$(call package_libs,libcares,-lcares)
libs_files :=
extra_objects :=

# PF01: undefined behaviour includes reads and writes at odd addresses
sanitize := -fno-sanitize-recover=all -fno-omit-frame-pointer

ifeq ($(FLAVOUR),plain)
ours += $(fortify) -fno-plt
ours_ld += -pie
else ifeq ($(FLAVOUR),san)
ours += -fsanitize=address,undefined $(sanitize)
ours_ld += -pie
else ifeq ($(FLAVOUR),fuzz)
ours += -fsanitize=fuzzer-no-link,address,undefined $(sanitize)
ours_ld += -pie
else ifeq ($(FLAVOUR),static)
ours += $(fortify)
ours_ld += -static-pie
extra_objects := $(B)/obj/dist/static/glibc_nss.o $(B)/obj/dist/static/random.o
else ifeq ($(FLAVOUR),musl)
# the three libraries from the distribution's source, gcc's specs and ld's script for static PIE
L := build/libs/$(or $(TARGET),musl)
# also if CC is given to make: that is for other flavours, this one has MUSL_CC
override CC := $(musl_cc)
ours += $(fortify) -fno-asynchronous-unwind-tables -fno-unwind-tables
libs_cflags := -isystem $(L)/include
libs := -L$(L) -lsodium -lmbedcrypto -lcares
libs_files := $(L)/libsodium.a $(L)/libmbedcrypto.a $(L)/libcares.a
in_libc := $(if $(hosted),,lines numbers one_thread search sort vfprintf relro)
extra_objects := $(patsubst %,$(B)/obj/dist/static/%.o,random $(in_libc))
ifdef zig
# the machine's own objcopy knows no other CPU
OBJCOPY := $(LLVM_OBJCOPY)
ours_ld += $(if $(hosted),,-static) $(if $(fixed),-no-pie,-pie)
link_cc = $(if $(hosted),,sh dist/static/zig_link.sh )$(CC)
# CMSG_NXTHDR() of its musl compares signed with unsigned; without -O it would want a run-time of sanitizers
ours += $(fixed:%=-fno-PIE) -Wno-sign-compare -fno-sanitize=all
else
libs_files += $(L)/pie.specs $(L)/tight.ld
ours_ld += -static-pie -Wl,-T,$(L)/tight.ld
link_cc = $(REALGCC) -specs=$(L)/pie.specs
endif
ifeq ($(zig)$(cpu),x86)
extra_objects += $(B)/obj/dist/static/relr_x86.o
ours_ld += -Wl,-z,pack-relative-relocs -Wl,-e,relr_start
# what functions check their stack against stands in a variable of musl's, too, nearer than the thread's own
canary := -mstack-protector-guard=global
ours += $(canary)
$(B)/obj/dist/static/relr_x86.o: defines = -fno-stack-protector
endif
else
$(error FLAVOUR is plain, san, fuzz, static or musl, not "$(FLAVOUR)")
endif

REALGCC ?= gcc
link_cc ?= $(CC)
compile = $(CC) $(ours) $(libs_cflags) $(CPPFLAGS) $(CFLAGS) -MMD -MP
link_with = $(link_cc) $(ours) $(CFLAGS) $1 $(ours_ld) $(LDFLAGS)
link = $(call link_with,$(apart))
say = $(if $(V),,@echo "  $1	$(patsubst $(CURDIR)/%,%,$@)";)

# --- the executable and its names

.PHONY: all
all: $(B)/ss $(links:%=$(B)/%)
	$(if $(absent_links),@rm -f $(absent_links:%=$(B)/%))

$(links:%=$(B)/%): $(B)/ss
	@ln -f $< $@

ifneq ($(filter san fuzz,$(FLAVOUR))$(filter macos,$(os)),)
$(B)/ss: $(B)/obj/ss
	@ln -f $< $@
else
# the debug information goes into a file of its own, which debuggers find by its name
$(B)/ss: $(B)/obj/ss
	@$(OBJCOPY) --only-keep-debug $< $@.debug
	@$(OBJCOPY) --strip-all --add-gnu-debuglink=$@.debug $< $@.new
	$(call say,STRIP)mv -f $@.new $@
endif

$(B)/obj/ss: $(B)/obj/ss.o $(lib_objects) $(extra_objects)
	$(call say,LINK)$(call link_with,$(as_one)) -o $@ $^ $(libs)

$(B)/obj/%.o: %.c $(B)/obj/flags $(libs_files)
	@mkdir -p $(@D)
	$(call say,CC)$(compile) $(defines) $(unoptimised) -c -o $@ $<

# the kernels that ask the CPU first: some compilers know their instructions only where all may be used
# (zig's name the CPU in dist/static/targets.mk)
ifndef zig
$(B)/obj/crypto/aes_arm.o: defines = -march=armv8-a+crypto
endif

# who is asked what is not there
$(B)/obj/applets/features.o: ours += -DSS_WITHOUT_PARTS='"$(without)"'

# everything is to be small here, whatever CFLAGS say, but the ciphers: elsewhere the time goes into
# system calls. What is small is also optimised as one, but not in tests, which would take long to link.
ifeq ($(FLAVOUR),musl)
cold := $(addprefix crypto/,aead.c aes.c cpu_x86.c kdf.c md5.c random.c sha1.c stream.c stream_%.c substitution.c)
rarely := $(filter-out $(filter-out $(cold),$(filter crypto/%,$(lib_sources))),$(lib_sources)) ss.c
small := $(shell $(CC) -Oz -E -x c /dev/null >/dev/null 2>&1 && echo -Oz || echo -Os)
# a jump into another function would need an end of its own, with another look at the stack
small += -fno-optimize-sibling-calls
$(patsubst %.c,$(B)/obj/%.o,$(rarely)): defines = $(small) $(both)
$(in_libc:%=$(B)/obj/dist/static/%.o): defines = $(small) -fno-builtin
ifndef zig
both := -flto -ffat-lto-objects
apart := -fno-lto
as_one := $(small) -flto -flto-partition=one
else ifneq ($(filter $(as_one_targets),$(TARGET)),)
both := -flto -ffat-lto-objects
as_one := -flto
endif
endif

# another compiler, other flags, another version, files that change sides: everything again
$(B)/obj/flags: export FLAGS := $(filter-out -Werror,$(VERSION) $(without) $(compile) $(link) $(as_one) $(libs) $(rarely))
$(B)/obj/flags: FORCE
	@mkdir -p $(@D)
	@echo "$$FLAGS" | cmp -s - $@ || echo "$$FLAGS" >$@
FORCE:

ifeq ($(FLAVOUR),musl)
$(L)/pie.specs: dist/static/pie_specs.sh
	@mkdir -p $(@D)
	@sh dist/static/pie_specs.sh $(musl_cc) >$@
$(L)/tight.ld: dist/static/tight_ld.sh
	@mkdir -p $(@D)
	@sh dist/static/tight_ld.sh $(REALGCC) >$@
$(L)/libmbedcrypto.a $(L)/libcares.a: $(L)/libsodium.a
$(L)/libsodium.a: $(patsubst %,dist/static/%,libs.mk ares_build.h ares_config.h mbedtls_config.h sodium_config.h sodium_picks.c)
	@$(MAKE) -f dist/static/libs.mk CC="$(musl_cc)" $(if $(hosted),AR="$(ZIG) ar") CFLAGS="$(fixed:%=-fno-PIE) $(canary)" LTO="$(both)" SRC=build/src O=$(L)
$(L)/libcmocka.a $(L)/libreference.a: $(L)/libsodium.a
	@$(MAKE) -f dist/static/libs.mk CC="$(musl_cc)" $(if $(hosted),AR="$(ZIG) ar") CFLAGS="$(fixed:%=-fno-PIE) $(canary)" SRC=build/src O=$(L) $@
endif

.PHONY: static static-musl san
own_b := $(if $(filter command,$(firstword $(origin B))),yes)
san:
	@$(MAKE) FLAVOUR=san all
static:
	@$(MAKE) FLAVOUR=static all
	@sh tests/structure/is_static.sh $(if $(own_b),$(B),build/static)/ss
static-musl:
	$(if $(hosted),$(error no executable is static on $(TARGET): make cross-check TARGETS=$(TARGET)))
	@$(MAKE) FLAVOUR=musl all
	@sh tests/structure/is_static.sh $(if $(own_b),$(B),build/$(or $(TARGET),musl))/ss $(size_max)

# What each object costs there, ours and the libraries': the same link once more, with a map.
.PHONY: size size-of
size:
	@$(MAKE) FLAVOUR=musl size-of
size-of: $(B)/ss $(B)/obj/ss.map
	@$(PYTHON) tests/structure/size.py $(B)/obj/ss.map $(B)/obj/ss.mapped $(B)/ss
$(B)/obj/ss.map: $(B)/obj/ss.o $(lib_objects) $(extra_objects)
	$(call say,MAP)$(link) -Wl,--print-map -o $(@:.map=.mapped) $^ $(libs) >$@
	@$(OBJCOPY) --strip-all $(@:.map=.mapped)

# --- to be handed out: the static executable as an image for containers; all there is, in build/dist,
# also for the targets that TARGETS names

.PHONY: image dist
image:
	@$(MAKE) FLAVOUR=musl all
	@sh dist/image.sh build/musl/ss build/image.tar shadowsocks:$(VERSION)
dist: image
	@for target in $(TARGETS); do $(MAKE) static-musl TARGET=$$target || exit; done
	@sh dist/release.sh $(VERSION) build/dist $(TARGETS)

# --- install

.PHONY: install uninstall completions
# The file is called shadowsocks: `ss` is the name of iproute2's socket lister. Units and completions
# are for who has systemd and these shells; COMPLETE_WITH says where programs are that run here, if
# those that are installed do not.
datadir ?= $(PREFIX)/share
unitdir ?= $(PREFIX)/lib/systemd/system
bashdir := $(datadir)/bash-completion/completions
zshdir := $(datadir)/zsh/site-functions
# what belongs to parts that are left out is neither installed nor taken away
pages := $(filter-out $(absent_links:%=man/%.1) $(absent_links:%=man/%.5),$(wildcard man/*.[1-9]))
units := $(filter-out $(foreach name,$(absent_links:ss-%=%),$(addprefix dist/systemd/shadowsocks-libev-$(name),.service @.service)), \
	$(wildcard dist/systemd/*))
lists := $(if $(filter ss-acl,$(links)),dist/acl/block-private.acl)
fishdir := $(datadir)/fish/vendor_completions.d
COMPLETE_WITH ?= $(B)
completions: all
	@mkdir -p $(B)/completions
	@for shell in bash zsh fish; do sh dist/completions.sh $$shell $(COMPLETE_WITH) >$(B)/completions/$$shell || exit; done

# BSD's install has no -D
install: all completions
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(zshdir) $(DESTDIR)$(bashdir) $(DESTDIR)$(fishdir) $(DESTDIR)$(unitdir)
	install -d $(lists:%=$(DESTDIR)$(datadir)/shadowsocks) $(addprefix $(DESTDIR)$(mandir)/man,$(sort $(subst .,,$(suffix $(pages)))))
	install -m 755 $(B)/ss $(DESTDIR)$(bindir)/shadowsocks
	for name in $(links); do ln -f $(DESTDIR)$(bindir)/shadowsocks $(DESTDIR)$(bindir)/$$name || exit; done
	for page in $(pages); do \
		install -m 644 $$page $(DESTDIR)$(mandir)/man$${page##*.}/$${page##*/} || exit; done
	install -m 644 $(B)/completions/zsh $(DESTDIR)$(zshdir)/_shadowsocks
	for name in shadowsocks $(links); do \
		install -m 644 $(B)/completions/bash $(DESTDIR)$(bashdir)/$$name && \
		install -m 644 $(B)/completions/fish $(DESTDIR)$(fishdir)/$$name.fish || exit; done
	for list in $(lists); do install -m 644 $$list $(DESTDIR)$(datadir)/shadowsocks/$${list##*/} || exit; done
	for unit in $(units); do \
		sed 's,/usr/bin/,$(bindir)/,' $$unit >$(DESTDIR)$(unitdir)/$${unit##*/} || exit; done
uninstall:
	rm -f $(addprefix $(DESTDIR)$(bindir)/,shadowsocks $(links))
	rm -f $(foreach page,$(pages),$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(page)))/$(notdir $(page)))
	rm -f $(DESTDIR)$(zshdir)/_shadowsocks $(addprefix $(DESTDIR)$(datadir)/shadowsocks/,$(notdir $(lists)))
	rm -f $(foreach name,shadowsocks $(links),$(DESTDIR)$(bashdir)/$(name) $(DESTDIR)$(fishdir)/$(name).fish)
	rm -f $(addprefix $(DESTDIR)$(unitdir)/,$(notdir $(units)))
	$(if $(lists),[ ! -d $(DESTDIR)$(datadir)/shadowsocks ] || rmdir $(DESTDIR)$(datadir)/shadowsocks)

# --- unit tests: one program each, linked with everything of ours but ss.c. T="core/slab net/socks"
# picks some; SAN=1 runs them under ASan and UBSan.

tests := $(patsubst tests/%.c,%,$(filter-out $(other),$(sort $(wildcard $(foreach d,core crypto net applets,tests/$d/*.c)))))
programs := $(tests:%=$(B)/tests/%)
# the tests themselves take three times as long to optimise as to run
$(tests:%=$(B)/obj/tests/%.o): unoptimised = -O0 -U_FORTIFY_SOURCE

# cmocka where the compiler has a libc of its own, and how to run what is for another CPU
cmocka := $(if $(filter musl,$(FLAVOUR)),$(L)/libcmocka.a $(L)/libreference.a)
test_libs := $(if $(filter musl,$(FLAVOUR)),-lreference) $(libs)
under = $(or $(WRAP),$(if $(cross),$(run.$(TARGET))))
$(tests:%=$(B)/obj/tests/%.o): | $(cmocka)

$(B)/tests/net/replay: private ours_ld += -Wl,--wrap=pthread_mutex_unlock
# tests/getline.h
$(addprefix $(B)/tests/,core/account applets/nat_list applets/url): private ours_ld += -Wl,--wrap=getline -Wl,--wrap=__getdelim
$(programs): $(B)/tests/%: $(B)/obj/tests/%.o $(lib_objects) $(extra_objects)
	@mkdir -p $(@D)
	$(call say,LINK)$(link) -o $@ $^ $(test_libs) -lcmocka

# Some of them once more, over kqueue and what comes with it; and the executable.
ifeq ($(os)$(POLLER)$(cross),linuxepoll)
kqueue_tests := $(patsubst tests/%.c,%,$(sort $(wildcard tests/core/reactor*.c))) core/block core/child core/fd core/pages \
	core/process net/datagram net/engine net/flow net/session
kqueue_programs := $(kqueue_tests:%=$(B)/tests/%-kqueue)
kqueue_objects := $(filter-out $(linux_only:%=$(B)/obj/%.o),$(lib_objects)) $(elsewhere:%=$(B)/obj/%.o)
programs += $(kqueue_programs)
$(kqueue_programs): $(B)/tests/%-kqueue: $(B)/obj/tests/%.o $(kqueue_objects)
	@mkdir -p $(@D)
	$(call say,LINK)$(link) -o $@ $^ $(test_libs) -lcmocka
$(B)/tests/kqueue/ss: $(B)/obj/ss.o $(kqueue_objects) $(extra_objects)
	@mkdir -p $(@D)
	$(call say,LINK)$(link) -o $@ $^ $(libs)
	@for name in $(links); do ln -f $@ $(@D)/$$name || exit; done
endif
ifeq ($(os),linux)
$(B)/obj/core/poller_kqueue.o $(B)/obj/tests/kqshim/kqshim.o: defines = -isystem tests/kqshim
endif

# What the ciphers cost on this machine: METHODS="aes-256-gcm ..." picks some.
.PHONY: bench-crypto
bench-crypto: $(B)/tests/bench/crypto
	@$(B)/tests/bench/crypto $(METHODS)
$(B)/tests/bench/crypto: $(B)/obj/tests/bench/crypto.o $(lib_objects) $(extra_objects) | $(cmocka)
	@mkdir -p $(@D)
	$(call say,LINK)$(link) -o $@ $^ $(test_libs)

# What access control lists cost: LISTS="x.acl ..." instead of the published ones.
.PHONY: bench-acl
bench-acl: $(B)/tests/bench/acl
	@$(B)/tests/bench/acl $(LISTS)
$(B)/tests/bench/acl: $(B)/obj/tests/bench/acl.o $(lib_objects) $(extra_objects)
	@mkdir -p $(@D)
	$(call say,LINK)$(link) -o $@ $^ $(libs)

# The executable once more, for a CPU with no wider AES than AES-NI.
aesni_objects := $(filter-out %/crypto/cpu_x86.o,$(lib_objects)) $(B)/obj/tests/bench/cpu_aesni_x86.o
$(B)/tests/bench/ss-aesni: $(B)/obj/ss.o $(aesni_objects) $(extra_objects)
	@mkdir -p $(@D)
	$(call say,LINK)$(link) -o $@ $^ $(libs)

# Ours and every peer that is here: BENCH="--sections bulk --peers ours" and more, see report.py --help.
.PHONY: bench bench-quick bench-programs bench-readme
bench-programs: all $(if $(filter x86,$(cpu)),$(B)/tests/bench/ss-aesni)
bench: bench-programs
	@$(MAKE) FLAVOUR=musl CC=$(MUSL_CC) bench-programs
	@SS_BUILD=$(abspath $(B)) $(TEST_PYTHON) tests/bench/report.py $(BENCH)
bench-readme:
	@$(TEST_PYTHON) tests/bench/readme.py $(B)/bench/report.json README.md
bench-quick: bench-programs
	@SS_BUILD=$(abspath $(B)) $(TEST_PYTHON) tests/bench/report.py --quick --peers "ours,ours aes-ni,plain forwarder,plain forwarder reno,shadowsocks-libev" --out $(B)/bench-quick $(BENCH)

# what the emulator that they run under cannot do, and they so leave out
emulator := $(if $(cross),$(B)/tests/emulator)
$(B)/tests/emulator: $(B)/obj/tests/reach/emulator.o $(filter %/relr_x86.o,$(extra_objects))
	@mkdir -p $(@D)
	$(call say,LINK)$(link) -o $@ $^

wanted := $(if $(T),$(filter $(T:%=$(B)/tests/%),$(programs)),$(programs))
.PHONY: unit programs
programs: $(programs)
unit: $(wanted) $(emulator)
	@WRAP="$(under)" EMULATOR=$(emulator) sh tests/unit.sh $(wanted)

# --- fuzzing: tests/fuzz/NAME.c is one parser. `fuzz` searches with clang; `fuzz-check` runs the
# same function over its corpus and a fixed stream of mutations, with any compiler.

fuzzers := $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/*.c)))

$(fuzzers:%=build/fuzz/%): build/fuzz/%: build/fuzz/obj/tests/fuzz/%.o $(lib_sources:%.c=build/fuzz/obj/%.o)
	$(call say,LINK)$(link) -fsanitize=fuzzer -o $@ $^ $(libs)
$(fuzzers:%=build/san/fuzz/%): build/san/fuzz/%: build/san/obj/tests/fuzz/%.o build/san/obj/tests/fuzz/driver/main.o \
		$(lib_sources:%.c=build/san/obj/%.o)
	@mkdir -p $(@D)
	$(call say,LINK)$(link) -o $@ $^ $(libs)

FUZZ ?= $(fuzzers)
.PHONY: fuzz fuzz-long fuzz-check fuzzers
fuzzers: $(fuzzers:%=$(if $(filter fuzz,$(FLAVOUR)),build/fuzz/%,build/san/fuzz/%))
fuzz:
	@$(MAKE) FLAVOUR=fuzz CC=clang fuzzers
	@sh tests/fuzz/driver/search.sh -max_total_time=$(FUZZ_SECONDS) $(FUZZ)
fuzz-long:
	@$(MAKE) FLAVOUR=fuzz CC=clang fuzzers
	@FUZZ_LENGTH=1500 sh tests/fuzz/driver/search.sh -runs=$(FUZZ_RUNS) $(FUZZ)
fuzz-check:
	@$(MAKE) FLAVOUR=san fuzzers
	@sh tests/fuzz/driver/check.sh $(fuzzers:%=build/san/fuzz/%)

# --- structure: what the source promises, checked

.PHONY: layers budget baseline size-check without-some without-check man-check
layers:
	@$(PYTHON) tests/structure/layers.py
budget: $(B)/tests/budget
	@$(B)/tests/budget
$(B)/tests/budget: $(B)/obj/tests/structure/budget.o
	@mkdir -p $(@D)
	$(call say,LINK)$(link) -o $@ $^
# the kernels that are chosen by what the CPU says it can, and what has no business to be like them
asked := $(patsubst %,$(B)/obj/crypto/%_x86.o,chacha aesni vaes256 vaes512 sha1)
baseline: $(lib_objects)
	@sh tests/structure/baseline.sh $(if $(filter x86,$(cpu)),$(filter-out $(asked),$(lib_objects)))
size-check:
	@sh tests/structure/size_check.sh "$(MAKE)" $(MUSL_CC)
# builds that lack something: the static one of them, for small machines; and each part alone
without-some:
	@$(TEST_PYTHON) tests/structure/without.py --musl "$(MUSL_CC)" --most $(WITHOUT_MAX) "$(MAKE)" build/without "stream manager redir"
without-check:
	@CC="$(CC)" $(TEST_PYTHON) tests/structure/without.py "$(MAKE)" build/without
man-check: all
	@sh tests/structure/manuals.sh $(PYTHON) $(B)

# --- the running programs

# Most of a test's time is waiting: four at once, where pytest knows how (PYTEST_JOBS= for one).
PYTEST_JOBS ?= $(shell $(TEST_PYTHON) -c 'import xdist' 2>/dev/null && echo '-n 4')
pytest = SS_BUILD=$(abspath $(B)) $(TEST_PYTHON) -m pytest -vv
E2E ?= tests/e2e

.PHONY: e2e e2e-kqueue interop interop-readme bugs netns noheap valgrind
e2e: all
	@$(pytest) $(PYTEST_JOBS) $(E2E)
# What wakes, what ends and what datagrams do; all of it with POLLER=kqueue.
e2e_kqueue := half_close reset slow_reader signals udp
e2e-kqueue: $(B)/tests/kqueue/ss
	@$(subst $(abspath $(B)),$(abspath $(B))/tests/kqueue,$(pytest)) $(PYTEST_JOBS) $(e2e_kqueue:%=tests/e2e/test_%.py)
interop: all
	@$(pytest) $(PYTEST_JOBS) tests/interop
interop-readme: all
	@$(pytest) $(PYTEST_JOBS) tests/interop --ignore tests/interop/test_readme.py
	@PYTHONPATH=tests/e2e:tests/interop SS_BUILD=$(abspath $(B)) $(TEST_PYTHON) tests/interop/matrix.py README.md $(B)/interop.json
bugs: all
	@$(pytest) $(PYTEST_JOBS) tests/bugs
# In network namespaces: as root, or where users may have namespaces of their own.
NETNS ?= tests/netns
own_namespace := $(if $(filter-out 0,$(shell id -u)),$(shell unshare -Urn true 2>/dev/null && echo unshare -Urn))
netns: all
	@export XTABLES_LOCKFILE=$(abspath $(B))/xtables.lock; $(if $(own_namespace),$(own_namespace) env) $(pytest) $(PYTEST_JOBS) $(NETNS)
noheap: all
	@SS_BUILD=$(abspath $(B)) CC="$(CC)" $(TEST_PYTHON) tests/noheap/run.py
ifeq ($(POLLER),kqueue)
	@echo "SKIPPED redir: datagrams of others are taken and answered by Linux's own files only"
	@echo "1 passed, 0 failed, 1 skipped"
else
	@SS_BUILD=$(abspath $(B)) CC="$(CC)" $(TEST_PYTHON) tests/noheap/redir.py && echo "2 passed, 0 failed"
endif
memcheck := valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite
valgrind: all $(wanted)
	@WRAP="$(memcheck)" sh tests/unit.sh $(wanted)
	@SS_LOCAL="$(memcheck) $(abspath $(B))/ss-local" SS_SERVER="$(memcheck) $(abspath $(B))/ss-server" \
		$(pytest) tests/e2e/test_methods.py tests/e2e/test_half_close.py -k "not 64"

# What dist/ makes of the static executable: alone in a root, in an image, on a router. `reproducible`
# makes it all once more, elsewhere, and compares.
.PHONY: dist-check reproducible
dist-check:
	@sh tests/dist/check.sh "$(MAKE)" "$(MUSL_CC)" $(TEST_PYTHON) -m pytest -vv -c tests/pytest.ini $(PYTEST_JOBS)
reproducible:
	@sh tests/dist/twice.sh "$(MAKE)" "$(MUSL_CC)"

# The static executable for every target of dist/static/targets.mk, run there under an emulator: unit
# tests, vectors and a relay. TARGETS="..." picks some, T="..." some of the tests; SIZES=any if this is
# not about how large they may be.
.PHONY: reach
reach:
	@$(TEST_PYTHON) tests/reach/reach.py "$(MAKE)" "$(SIZES)" $(foreach t,$(or $(TARGETS),$(targets)),"$t:$(run.$t)")

# That it compiles and links for FreeBSD and macOS, of which there are headers here but nothing to run it.
.PHONY: cross-check
cross-check:
	@for target in $(or $(TARGETS),$(bsd_targets)); do $(MAKE) FLAVOUR=musl TARGET=$$target all || exit; done
	@sh tests/structure/linked.sh $(or $(TARGETS),$(bsd_targets))

.PHONY: check demo
check:
	@MAKE="$(MAKE)" sh tests/check.sh
demo: all
	@SS=$(abspath $(B)) PYTHON=$(PYTHON) sh dist/demo.sh

# --- form

format_files = $(wildcard ss.c $(foreach d,core crypto net applets tests/core tests/crypto tests/net tests/applets \
	tests/fuzz tests/fuzz/driver tests/structure tests/reach,$d/*.[ch])) tests/unit.h tests/getline.h
CLANG_FORMAT ?= clang-format
.PHONY: format format-check clean help
format:
	$(CLANG_FORMAT) -i $(format_files)
format-check:
	@sh tests/structure/form.sh $(CLANG_FORMAT) $(format_files)

clean:
	rm -rf build

help:
	@cat dist/make.help

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
