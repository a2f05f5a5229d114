/*
 * What this x86-64 CPU can do, as far as our kernels ask: instructions, and an operating system
 * that keeps the registers they use. Asked when it is first needed, and remembered.
 */
#ifndef CRYPTO_CPU_X86_H
#define CRYPTO_CPU_X86_H

#include <stdbool.h>

/* AES and carry-less multiplication: with a block in a register, with two, with four. */
bool cpu_has_aesni(void);
bool cpu_has_vaes256(void);
bool cpu_has_vaes512(void);

/* Rounds of SHA-1. */
bool cpu_has_sha(void);

/* Vectors of 256 bits for integers, and products that leave the carry alone (BMI2), which came with
 * them. */
bool cpu_has_avx2(void);

#endif
