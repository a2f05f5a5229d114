/*
 * The pool of blocks, and the chains that hold bytes in them; see block.h. The list of free blocks
 * lies beside them, not in them, so that the memory of a free block can go back to the kernel.
 */
#include "core/block.h"

#include "core/pages.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int block_open(struct block_pool *pool, uint32_t max)
{
	size_t bytes;

	if (max == 0 || __builtin_mul_overflow((size_t)max, (size_t)BLOCK_SIZE, &bytes)) {
		errno = EINVAL;
		return -1;
	}
	*pool = (struct block_pool){ .max = max, .base = pages_reserve(bytes) };
	if (!pool->base)
		return -1;
	pool->free = pages_reserve((size_t)max * sizeof(*pool->free));
	if (!pool->free) {
		block_close(pool);
		return -1;
	}
	return 0;
}

void block_close(struct block_pool *pool)
{
	if (pool->base)
		pages_release(pool->base, (size_t)pool->max * BLOCK_SIZE);
	if (pool->free)
		pages_release(pool->free, (size_t)pool->max * sizeof(*pool->free));
	*pool = (struct block_pool){ 0 };
}

static struct block *lease(struct block_pool *pool)
{
	uint32_t number;

	if (pool->free_count > 0) {
		number = pool->free[--pool->free_count];
		if (pool->cold > pool->free_count)
			pool->cold = pool->free_count;
	} else {
		assert(pool->touched < pool->max);
		number = pool->touched++;
	}
	pool->leased++;

	struct block *block = (struct block *)(void *)(pool->base + (size_t)number * BLOCK_SIZE);
	*block = (struct block){ 0 };
	return block;
}

static void give_back(struct block_pool *pool, struct block *block)
{
	pool->free[pool->free_count++] = (uint32_t)(((char *)block - pool->base) / BLOCK_SIZE);
	pool->leased--;
}

size_t block_room(const struct block_pool *pool, const struct chain *chain)
{
	size_t tail = chain->tail ? BLOCK_ROOM - chain->tail->end : 0;

	return tail + (size_t)(pool->max - pool->leased) * BLOCK_ROOM;
}

int chain_append(struct block_pool *pool, struct chain *chain, const void *bytes, size_t n)
{
	const unsigned char *from = bytes;

	if (n > block_room(pool, chain))
		return -1;
	while (n > 0) {
		if (!chain->tail || chain->tail->end == BLOCK_ROOM) {
			struct block *block = lease(pool);

			if (chain->tail)
				chain->tail->next = block;
			else
				chain->head = block;
			chain->tail = block;
		}
		size_t part = BLOCK_ROOM - chain->tail->end;
		if (part > n)
			part = n;
		memcpy(chain->tail->data + chain->tail->end, from, part);
		chain->tail->end += (uint32_t)part;
		from += part;
		n -= part;
	}
	return 0;
}

int chain_iov(const struct chain *chain, struct iovec *iov, int max, size_t n)
{
	int used = 0;

	for (struct block *block = chain->head; block && n > 0 && used < max; block = block->next) {
		size_t part = block->end - block->start;

		if (part > n)
			part = n;
		iov[used++] =
			(struct iovec){ .iov_base = block->data + block->start, .iov_len = part };
		n -= part;
	}
	return used;
}

void chain_peek(const struct chain *chain, void *to, size_t n)
{
	unsigned char *at = to;

	for (const struct block *block = chain->head; n > 0; block = block->next) {
		assert(block);
		size_t part = block->end - block->start;
		if (part > n)
			part = n;
		memcpy(at, block->data + block->start, part);
		at += part;
		n -= part;
	}
}

void chain_drop(struct block_pool *pool, struct chain *chain, size_t n)
{
	while (n > 0) {
		struct block *block = chain->head;

		assert(block);
		size_t part = block->end - block->start;
		if (part > n) {
			block->start += (uint32_t)n;
			return;
		}
		n -= part;
		chain->head = block->next;
		if (!chain->head)
			chain->tail = NULL;
		give_back(pool, block);
	}
}

void chain_return(struct block_pool *pool, struct chain *chain)
{
	while (chain->head) {
		struct block *block = chain->head;

		chain->head = block->next;
		give_back(pool, block);
	}
	chain->tail = NULL;
}

void block_trim(struct block_pool *pool, uint32_t keep)
{
	/* The bottom of the stack is what was not needed for longest. Where pages are larger than
	 * blocks nothing is given back. */
	while (pool->free_count - pool->cold > keep)
		pages_drop(pool->base + (size_t)pool->free[pool->cold++] * BLOCK_SIZE, BLOCK_SIZE);
}
