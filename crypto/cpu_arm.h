/*
 * What this 64-bit ARM CPU can do, as far as our kernels ask.
 */
#ifndef CRYPTO_CPU_ARM_H
#define CRYPTO_CPU_ARM_H

#include <stdbool.h>

/* Rounds of AES, and carry-less multiplication of 64 bits. */
bool cpu_has_aes(void);

#endif
