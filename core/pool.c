/*
 * See pool.h. The area is a row of pieces, each behind a head that says how long it is and how
 * long the one before it is, so that a piece given back finds its neighbours and joins those that
 * are free. Free pieces are in a list, the last given back first: what is warm is used again, and
 * the end of the area stays untouched as long as possible.
 */
#include "core/pool.h"

#include "core/pages.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { ALIGN = 16 };

struct head {
	_Alignas(ALIGN) size_t size; /* with the head; 0 behind the last piece */
	size_t before; /* size of the piece before; the lowest bit: this one is used */
};

enum { SMALLEST = 2 * sizeof(struct head) };

_Static_assert(sizeof(struct head) % ALIGN == 0, "pieces are aligned behind their heads");
_Static_assert(sizeof(struct list) <= sizeof(struct head), "a free piece holds its link");

static struct head *head_at(void *piece)
{
	return (struct head *)(void *)((char *)piece - sizeof(struct head));
}

static struct list *link_of(struct head *head)
{
	return (struct list *)(void *)(head + 1);
}

static struct head *after(struct head *head)
{
	return (struct head *)(void *)((char *)head + head->size);
}

static bool is_used(const struct head *head)
{
	return head->before & 1;
}

static void set_size(struct head *head, size_t size)
{
	head->size = size;
	after(head)->before = size | (after(head)->before & 1);
}

static void add_free(struct pool *pool, struct head *head)
{
	head->before &= ~(size_t)1;
	list_append(pool->free.next, link_of(head)); /* to the front */
}

int pool_open(struct pool *pool, size_t size)
{
	if (size < SMALLEST + sizeof(struct head) || size % ALIGN != 0) {
		errno = EINVAL;
		return -1;
	}
	*pool = (struct pool){ .base = pages_reserve(size), .size = size };
	if (pool->base == NULL)
		return -1;
	list_init(&pool->free);

	struct head *all = (struct head *)(void *)pool->base;
	struct head *end = (struct head *)(void *)(pool->base + size - sizeof(struct head));
	end->before = 1;
	set_size(all, size - sizeof(struct head));
	add_free(pool, all);
	return 0;
}

void pool_close(struct pool *pool)
{
	if (pool->base != NULL)
		pages_release(pool->base, pool->size);
	*pool = (struct pool){ 0 };
}

static struct head *first_fit(struct pool *pool, size_t size)
{
	for (struct list *at = pool->free.next; at != &pool->free; at = at->next)
		if (head_at(at)->size >= size)
			return head_at(at);
	return NULL;
}

void *pool_take(struct pool *pool, size_t n)
{
	if (n > pool->size)
		return NULL;
	size_t size = (n + sizeof(struct head) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (size < SMALLEST)
		size = SMALLEST;
	struct head *head = first_fit(pool, size);
	if (head == NULL)
		return NULL;

	list_remove(link_of(head));
	if (head->size - size >= SMALLEST) {
		size_t rest = head->size - size;
		set_size(head, size);
		after(head)->before = size;
		set_size(after(head), rest);
		add_free(pool, after(head));
	}
	head->before |= 1;
	pool->used += head->size;
	return head + 1;
}

void pool_give(struct pool *pool, void *piece)
{
	if (piece == NULL)
		return;
	struct head *head = head_at(piece);
	assert((char *)head >= pool->base && (char *)head < pool->base + pool->size &&
	       is_used(head));
	pool->used -= head->size;

	struct head *next = after(head);
	if (!is_used(next)) {
		list_remove(link_of(next));
		set_size(head, head->size + next->size);
	}
	size_t before = head->before & ~(size_t)1;
	struct head *previous = (struct head *)(void *)((char *)head - before);
	if (before != 0 && !is_used(previous)) {
		list_remove(link_of(previous));
		set_size(previous, previous->size + head->size);
		head = previous;
	}
	add_free(pool, head);
}

void *pool_resize(struct pool *pool, void *piece, size_t n)
{
	size_t room = piece != NULL ? head_at(piece)->size - sizeof(struct head) : 0;

	if (piece != NULL && n <= room)
		return piece;
	void *moved = pool_take(pool, n);
	if (moved != NULL && piece != NULL) {
		memcpy(moved, piece, room);
		pool_give(pool, piece);
	}
	return moved;
}
