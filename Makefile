# shadowsocks, one executable. GNU make; `make help` lists what there is to make.
#
# One FLAVOUR is built per run, each into a directory B of its own with objects in $(B)/obj:
# plain (build), san (build/san), fuzz (build/fuzz), static (build/static), musl (build/musl).
# Targets that need another flavour call make again.

VERSION := 0.1.0
PREFIX ?= /usr/local
bindir ?= $(PREFIX)/bin
mandir ?= $(PREFIX)/share/man

CFLAGS ?= -O2 -g
OBJCOPY ?= objcopy
PKG_CONFIG ?= pkg-config
FUZZ_SECONDS ?= 20
FLAVOUR := $(if $(SAN),san,$(or $(FLAVOUR),plain))
B := $(if $(filter plain,$(FLAVOUR)),build,build/$(FLAVOUR))

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

# --- sources: whatever lies in the four directories, less the files of other platforms

os := $(if $(filter Linux,$(shell uname -s)),linux,bsd)
POLLER ?= $(if $(filter linux,$(os)),epoll,kqueue)
other := %_$(if $(filter linux,$(os)),bsd,linux).c $(filter-out %_$(POLLER).c,%_epoll.c %_kqueue.c)
lib_sources := $(filter-out $(other),$(sort $(wildcard core/*.c crypto/*.c net/*.c applets/*.c)))
lib_objects := $(lib_sources:%.c=$(B)/obj/%.o)
links := ss-local ss-server ss-tunnel ss-redir ss-manager

# --- flags: ours come first, so that CFLAGS, CPPFLAGS and LDFLAGS of the user have the last word

ours := -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -DSS_VERSION='"$(VERSION)"' -I.
ours += -Wall -Wextra -Wshadow $(if $(WERROR),-Werror)
ours += -fstack-protector-strong -ffunction-sections -fdata-sections -fPIE -fno-plt
ours_ld := -Wl,-z,relro,-z,now -Wl,--gc-sections

# a .pc file where there is one; mbedtls has none before 3.6
library = $(or $(shell $(PKG_CONFIG) $1 $2 2>/dev/null),$(if $(filter --libs,$1),$3))
cflags_libs = $(foreach p,libsodium mbedcrypto libcares,$(call library,--cflags,$p))
ld_libs = $(call library,--libs,libsodium,-lsodium) $(call library,--libs,mbedcrypto,-lmbedcrypto) \
	$(call library,--libs,libcares,-lcares)

# checked reads and writes in libc; needs the optimiser, and stands in the sanitizers' way
fortify := $(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)

ifeq ($(FLAVOUR),san)
ours += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ours_ld += -fsanitize=address,undefined -pie
else ifeq ($(FLAVOUR),fuzz)
ours += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ours_ld += -fsanitize=fuzzer,address,undefined -pie
else
ours += $(fortify)
ours_ld += -pie
endif

libs_ready :=
cflags_libs := $(cflags_libs)
ld_libs := $(ld_libs)

compile = $(CC) $(ours) $(cflags_libs) $(CPPFLAGS) $(CFLAGS) -MMD -MP
link = $(CC) $(ours) $(CFLAGS) $(ours_ld) $(LDFLAGS)

# --- the executable and its names

.PHONY: all
all: $(B)/ss $(links:%=$(B)/%)

$(links:%=$(B)/%): $(B)/ss
	@ln -f $< $@

ifneq ($(filter san fuzz,$(FLAVOUR)),)
$(B)/ss: $(B)/obj/ss
	@ln -f $< $@
else
# the debug information goes into a file of its own, which debuggers find by its name
$(B)/ss: $(B)/obj/ss
	$(OBJCOPY) --only-keep-debug $< $@.debug
	$(OBJCOPY) --strip-all --add-gnu-debuglink=$@.debug $< $@
endif

$(B)/obj/ss: $(B)/obj/ss.o $(lib_objects)
	$(link) -o $@ $^ $(ld_libs)

$(B)/obj/%.o: %.c $(B)/obj/flags $(libs_ready)
	@mkdir -p $(@D)
	$(compile) -c -o $@ $<

# another compiler or other flags: everything again
flags := $(compile) $(link) $(ld_libs)
$(B)/obj/flags: FORCE
	@mkdir -p $(@D)
	@echo "$$FLAGS" | cmp -s - $@ || echo "$$FLAGS" >$@
$(B)/obj/flags: export FLAGS := $(flags)
FORCE:

# --- unit tests: one program each, with everything of ours but ss.c
# T="core/slab net/socks" picks some

tests := $(or $(T),$(patsubst tests/%.c,%,$(filter-out $(other),$(sort $(wildcard $(foreach d,core crypto net applets,tests/$d/*.c))))))
programs := $(tests:%=$(B)/tests/%)

$(B)/tests/%: $(B)/obj/tests/%.o $(lib_objects)
	@mkdir -p $(@D)
	$(link) -o $@ $^ $(ld_libs) -lcmocka

.PHONY: unit
unit: $(programs)
	@sh tests/unit.sh $(programs)

.PHONY: clean
clean:
	rm -rf build

.SECONDARY:
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
