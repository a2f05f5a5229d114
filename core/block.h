/*
 * Blocks: buffers that are leased only while bytes must be held. One pool for the process, with
 * a ceiling. A chain of blocks holds the bytes of one direction of one session.
 */
#ifndef CORE_BLOCK_H
#define CORE_BLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { BLOCK_SIZE = 16384 };

struct block {
	struct block *next;
	uint32_t start, end; /* the bytes held: data[start..end) */
	unsigned char data[];
};

enum { BLOCK_ROOM = BLOCK_SIZE - sizeof(struct block) };

struct block_pool {
	char *base;
	uint32_t *free; /* stack of the numbers of blocks not leased, the latest returned on top */
	uint32_t max;	/* the ceiling, blocks */
	/* blocks that were ever leased: numbers below it are leased or in `free` */
	uint32_t touched;
	uint32_t leased;     /* blocks out now */
	uint32_t free_count; /* entries of `free` */
	uint32_t cold;	     /* entries at the bottom of `free` whose memory the kernel has back */
};

/* Bytes held in order: appended at the tail, consumed at the head. Zeroed is empty. */
struct chain {
	struct block *head, *tail;
};

/* A pool of at most `max` blocks, address space reserved at once. 0, or -1 with errno. */
int block_open(struct block_pool *pool, uint32_t max);
void block_close(struct block_pool *pool);

/* Bytes that can surely be appended to `chain` now. */
size_t block_room(const struct block_pool *pool, const struct chain *chain);

/* Copy `n` bytes to the end. 0, or -1 (nothing appended) if the pool's ceiling is in the way. */
int chain_append(struct block_pool *pool, struct chain *chain, const void *bytes, size_t n);

/* Point `iov` (at most `max` entries) at the first `n` bytes held; the entries used. */
int chain_iov(const struct chain *chain, struct iovec *iov, int max, size_t n);

/* Copy the first `n` bytes, which are there, to `to`; they stay. */
void chain_peek(const struct chain *chain, void *to, size_t n);

/* Drop the first `n` bytes, which are there; blocks that become empty go back. */
void chain_drop(struct block_pool *pool, struct chain *chain, size_t n);

/* Drop all. */
void chain_return(struct block_pool *pool, struct chain *chain);

/* After a peak: give the memory of free blocks beyond `keep` back to the kernel. */
void block_trim(struct block_pool *pool, uint32_t keep);

#endif
