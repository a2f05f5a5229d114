# The machines for which `make static-musl TARGET=T` links an executable, and on which `make reach`
# runs it: with what it is compiled, how it is run here, and the most bytes it may have. Included
# by the Makefile.

targets := x86_64-linux-musl x86-linux-musl aarch64-linux-musl arm-linux-musleabihf arm-linux-musleabi \
	armv5-linux-musleabi mips-linux-musleabi mipsel-linux-musleabi mips64-linux-muslabi64 \
	riscv64-linux-musl powerpc-linux-musleabi s390x-linux-musl
# that only compile and link here, against their own headers: `make cross-check`
bsd_targets := x86_64-freebsd aarch64-macos

# Zig's C compiler brings a libc for every target; dist/setup.sh cross puts it there.
ZIG ?= $(or $(wildcard $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/shadowsocks-zig/ziglang/zig),zig)

# Routers with MIPS have no FPU; ARMv6 stands for the first Raspberry Pi, ARMv7 for all since.
mcpu.x86-linux-musl := pentium4
mcpu.aarch64-linux-musl := generic+crypto
mcpu.arm-linux-musleabihf := cortex_a7
mcpu.arm-linux-musleabi := arm1176jzf_s
mcpu.mips-linux-musleabi := mips32r2+soft_float
mcpu.mipsel-linux-musleabi := mips32r2+soft_float

# Alpine's are static, too, and not called so
qemu = $(notdir $(or $(shell command -v qemu-$1-static || command -v qemu-$1),qemu-$1-static))
run.aarch64-linux-musl = $(call qemu,aarch64)
run.arm-linux-musleabihf = $(call qemu,arm)
run.arm-linux-musleabi = $(call qemu,arm) -cpu arm1176
run.armv5-linux-musleabi = $(call qemu,arm) -cpu arm926
run.mips-linux-musleabi = $(call qemu,mips) -cpu 24Kc
run.mipsel-linux-musleabi = $(call qemu,mipsel) -cpu 24Kc
run.mips64-linux-muslabi64 = $(call qemu,mips64)
run.riscv64-linux-musl = $(call qemu,riscv64)
run.powerpc-linux-musleabi = $(call qemu,ppc)
run.s390x-linux-musl = $(call qemu,s390x)

# Instructions are longer, or more, on these. To find addresses at run time takes a sixth more on
# those that know none relative to the program counter: their executables stand at a fixed one.
large := mips-linux-musleabi mipsel-linux-musleabi mips64-linux-muslabi64 powerpc-linux-musleabi s390x-linux-musl
# The largest of all is optimised as one, too, which saves 5 %.
as_one_targets := mips64-linux-muslabi64
hosted := $(filter $(bsd_targets),$(TARGET))
fixed := $(filter x86-linux-musl mips-% mipsel-% mips64-% powerpc-%,$(TARGET))
most := $(if $(filter $(large),$(TARGET)),560000,450000)
# relocations are packed by other compilers, or on the machine's own CPU
most.armv5-linux-musleabi := 460000
size_max := $(if $(TARGET),$(or $(most.$(TARGET)),$(most)),$(SIZE_MAX))

ifdef TARGET
$(if $(filter $(targets) $(bsd_targets),$(TARGET)),,$(error no target $(TARGET); there are: $(targets) $(bsd_targets)))
endif

# The machine's own comes from its musl-gcc; ARMv5 from the distribution's compiler and musl's source,
# because Zig's libc wants atomic instructions there.
ifneq ($(filter-out $(shell uname -m)-linux-musl armv5-linux-musleabi,$(TARGET)),)
$(if $(shell command -v $(ZIG)),,$(error zig is not here, which compiles for $(TARGET): sh dist/setup.sh cross))
$(if $(shell command -v $(LLVM_OBJCOPY)),,$(error $(LLVM_OBJCOPY) is not here, which strips for $(TARGET): sh dist/setup.sh cross))
zig := $(ZIG) cc -target $(TARGET) $(mcpu.$(TARGET):%=-mcpu=%)
musl_cc := $(zig)
else ifeq ($(TARGET),armv5-linux-musleabi)
REALGCC := arm-linux-gnueabi-gcc
OBJCOPY := arm-linux-gnueabi-objcopy
musl_cc := build/libs/$(TARGET)/musl/bin/musl-gcc
$(musl_cc): dist/static/musl_cross.sh
	@sh dist/static/musl_cross.sh arm-linux-gnueabi build/libs/$(TARGET)/musl build/src
static-musl: $(musl_cc)
else
musl_cc := $(MUSL_CC)
endif
