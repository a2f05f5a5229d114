# libsodium, libmbedcrypto and c-ares as static archives for any compiler, from the distribution's
# source packages, without autotools:
#     make -f dist/static/libs.mk CC=musl-gcc SRC=build/src O=build/libs/musl
# SRC is filled by get-src.sh if it is empty, from one Debian release whatever the machine's own, so
# that everybody links the same code. Only what this program uses is compiled in.

AR ?= ar
OPT ?= -Os
SUITE ?= bookworm
here := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
sodium := $(SRC)/libsodium/src/libsodium
mbedtls := $(SRC)/mbedtls
cares := $(SRC)/c-ares

.SUFFIXES:
.DELETE_ON_ERROR:

all: $(O)/libsodium.a $(O)/libmbedcrypto.a $(O)/libcares.a
.PHONY: all

# The lists below are read from the unpacked sources, so make starts again once they are there.
$(SRC)/.done:
	@SUITE=$(SUITE) sh $(here)/get-src.sh $(SRC) libsodium mbedtls c-ares
	@touch $@
-include $(SRC)/.done

flags = $(OPT) -fPIE -ffunction-sections -fdata-sections -fstack-protector-strong \
	-fno-asynchronous-unwind-tables -fno-unwind-tables -ffile-prefix-map=$(SRC)=. -w $(CFLAGS)

# libsodium: the primitives used, and what sodium_init() touches
sodium_files := \
	crypto_shorthash/crypto_shorthash.c crypto_shorthash/siphash24/shorthash_siphash24.c \
	crypto_shorthash/siphash24/ref/shorthash_siphash24_ref.c \
	crypto_verify/sodium/verify.c \
	randombytes/randombytes.c randombytes/sysrandom/randombytes_sysrandom.c \
	sodium/core.c sodium/runtime.c sodium/utils.c sodium/version.c sodium/codecs.c
# and what tests compare ours with
reference_files := \
	crypto_aead/chacha20poly1305/sodium/aead_chacha20poly1305.c \
	crypto_aead/xchacha20poly1305/sodium/aead_xchacha20poly1305.c \
	crypto_aead/aes256gcm/aesni/aead_aes256gcm_aesni.c \
	crypto_core/hchacha20/core_hchacha20.c crypto_core/salsa/ref/core_salsa_ref.c \
	crypto_onetimeauth/poly1305/onetimeauth_poly1305.c \
	crypto_onetimeauth/poly1305/donna/poly1305_donna.c \
	crypto_onetimeauth/poly1305/sse2/poly1305_sse2.c \
	crypto_stream/chacha20/stream_chacha20.c crypto_stream/chacha20/ref/chacha20_ref.c \
	crypto_stream/chacha20/dolbeau/chacha20_dolbeau-ssse3.c \
	crypto_stream/salsa20/stream_salsa20.c crypto_stream/salsa20/ref/salsa20_ref.c \
	crypto_stream/salsa20/xmm6int/salsa20_xmm6int-sse2.c \
	crypto_stream/salsa20/xmm6/salsa20_xmm6.c \
	crypto_hash/sha256/hash_sha256.c crypto_hash/sha256/cp/hash_sha256_cp.c

# mbedtls: every file guards itself, so mbedtls_config.h alone decides
mbedtls_files := $(notdir $(wildcard $(mbedtls)/library/*.c))
cares_files := $(patsubst $(cares)/src/lib/%,%,$(filter-out %/windows_port.c %/ares_android.c,\
	$(sort $(wildcard $(cares)/src/lib/*.c $(cares)/src/lib/*/*.c))))

# ciphers are not where to save bytes, and what is compared with is to be as fast as it can
$(O)/sodium/crypto_stream/%.o $(O)/sodium/crypto_onetimeauth/%.o: OPT := -O2
$(addprefix $(O)/mbedtls/,aes.o aesni.o): OPT := -O2
$(O)/cares/%.o: OPT += $(LTO)

# clang ignores libsodium's '#pragma GCC target', so the instruction sets are named per file
ifneq ($(filter x86_64-% x86-% i%86-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
$(O)/sodium/%-sse2.o $(O)/sodium/%_sse2.o: target := -msse2
$(O)/sodium/%-ssse3.o: target := -mssse3
endif

# The headers as they would be installed. Kernel headers too, where the compiler has its own libc
# and cannot see them (musl-gcc).
mbedtls_config = $(if $(wildcard $(mbedtls)/include/mbedtls/mbedtls_config.h),mbedtls_config.h,config.h)
$(O)/include/.done: $(here)/libs.mk $(SRC)/.done $(here)/mbedtls_config.h $(here)/ares_build.h
	@rm -rf $(O)/include
	@mkdir -p $(O)/include/sodium
	@cp -R $(sodium)/include/sodium.h $(mbedtls)/include/mbedtls $(mbedtls)/include/psa $(O)/include/
	@cp $(sodium)/include/sodium/*.h $(O)/include/sodium/
	@version=$$(sed -n 's/^AC_INIT(\[libsodium\],\[\([0-9.]*\)\].*/\1/p' $(SRC)/libsodium/configure.ac) && \
	sed -e "s/@VERSION@/$$version/" \
		-e "s/@SODIUM_LIBRARY_VERSION_MAJOR@/$$(sed -n 's/^SODIUM_LIBRARY_VERSION_MAJOR=//p' $(SRC)/libsodium/configure.ac)/" \
		-e "s/@SODIUM_LIBRARY_VERSION_MINOR@/$$(sed -n 's/^SODIUM_LIBRARY_VERSION_MINOR=//p' $(SRC)/libsodium/configure.ac)/" \
		-e '/@SODIUM_LIBRARY_MINIMAL_DEF@/d' \
		$(sodium)/include/sodium/version.h.in >$(O)/include/sodium/version.h
	@cp $(here)/mbedtls_config.h $(O)/include/mbedtls/$(mbedtls_config)
	@cp $(cares)/include/*.h $(O)/include/
	@cp $(here)/ares_build.h $(O)/include/
	@sh $(here)/kernel_headers.sh $(O)/include $(CC)
	@touch $@

$(O)/sodium/picks.o: $(here)/sodium_picks.c
	@mkdir -p $(@D)
	@$(CC) $(flags) -c -o $@ $<

$(O)/sodium/%.o: $(sodium)/%.c $(here)/sodium_config.h $(O)/include/.done
	@mkdir -p $(@D)
	@$(CC) $(flags) $(target) -include $(here)/sodium_config.h -I$(O)/include -I$(O)/include/sodium \
		-I$(sodium)/include/sodium -c -o $@ $<

$(O)/mbedtls/%.o: $(mbedtls)/library/%.c $(O)/include/.done
	@mkdir -p $(@D)
	@$(CC) $(flags) -I$(O)/include -I$(mbedtls)/library -I$(mbedtls)/3rdparty/everest/include -c -o $@ $<

$(O)/cares/%.o: $(cares)/src/lib/%.c $(here)/ares_config.h $(O)/include/.done
	@mkdir -p $(@D)
	@$(CC) $(flags) -D_GNU_SOURCE -DHAVE_CONFIG_H -DCARES_BUILDING_LIBRARY -DCARES_STATICLIB -I$(here) \
		-I$(O)/include -I$(cares)/src/lib -I$(cares)/src/lib/include -c -o $@ $<

archive = @echo "  AR      $@"; rm -f $@; $(AR) rcsD $@ $^
$(O)/libsodium.a: $(O)/sodium/picks.o $(sodium_files:%.c=$(O)/sodium/%.o)
	$(archive)
$(O)/libmbedcrypto.a: $(mbedtls_files:%.c=$(O)/mbedtls/%.o)
	$(archive)
$(O)/libcares.a: $(cares_files:%.c=$(O)/cares/%.o)
	$(archive)

# for the tests alone; before libsodium.a, whose stand-ins give way
$(O)/libreference.a: $(reference_files:%.c=$(O)/sodium/%.o)
	$(archive)

# for the unit tests: what its configure would have found on any C library of ours
$(SRC)/.cmocka:
	@SUITE=$(SUITE) sh $(here)/get-src.sh $(SRC) cmocka
	@touch $@
$(O)/cmocka.o: $(SRC)/.cmocka $(O)/include/.done
	@cp $(SRC)/cmocka/include/cmocka.h $(O)/include/
	@$(CC) $(flags) -include stdint.h -D_UINTPTR_T $(patsubst %,-DHAVE_%=1,ASSERT_H INTTYPES_H SIGNAL_H STRINGS_H \
		STRUCT_TIMESPEC CLOCK_GETTIME CLOCK_REALTIME STRSIGNAL) -I$(SRC)/cmocka/include -c -o $@ $(SRC)/cmocka/src/cmocka.c
$(O)/libcmocka.a: $(O)/cmocka.o
	$(archive)
