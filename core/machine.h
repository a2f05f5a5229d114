/*
 * The machine that a process runs on, or the part of it that it may use.
 */
#ifndef CORE_MACHINE_H
#define CORE_MACHINE_H

#include <stdint.h>

/* Bytes of memory; 0: nobody tells. */
uint64_t machine_memory(void);

#endif
