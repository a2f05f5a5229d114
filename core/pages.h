/*
 * Address space reserved once, at start: slab.c and block.c cut it into pieces. Memory is spent
 * page by page as it is first touched, and can be given back where it is free. What the kernels
 * do differently here is in pages_linux.c and pages_bsd.c.
 */
#ifndef CORE_PAGES_H
#define CORE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* `n` bytes at the start of a page, zero until they are written to. NULL with errno. */
void *pages_reserve(size_t n);
void pages_release(void *at, size_t n);

/* Give the memory behind whole pages back; what they hold is lost, they may be written to again.
 * False, and nothing happens, if [at, at + n) does not begin and end where pages do: the kernel
 * would round it up, over bytes of others. */
bool pages_drop(void *at, size_t n);

/* A process forked from now on finds the whole pages of [at, at + n) zeroed. False: the system
 * cannot do that. */
bool pages_hide_from_children(void *at, size_t n);

#endif
