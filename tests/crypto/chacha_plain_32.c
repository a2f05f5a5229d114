/*
 * The same with products of 32 bits, as on CPUs whose compiler has none of 128.
 */
#undef __SIZEOF_INT128__

#include "tests/crypto/chacha_plain.c"
