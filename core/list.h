/*
 * Doubly linked lists whose links live inside the listed structs, and the way back from a
 * member to the struct that holds it. A list head is a struct list of its own; a link that is
 * in no list points to itself, so list_remove() may be called twice.
 */
#ifndef CORE_LIST_H
#define CORE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

/* Put `link`, which is in no list, at the end of the list with this head. */
static inline void list_append(struct list *head, struct list *link)
{
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

static inline void list_remove(struct list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	list_init(link);
}

#endif
