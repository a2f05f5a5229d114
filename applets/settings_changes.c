/*
 * Places that come, change and go while the program runs: what a reload makes of a file in which
 * they differ. Services follow the places (changes.c); here is found out which of them stay. Called
 * by settings_users.c.
 */
#include "applets/settings.h"

#include "applets/secret.h"
#include "applets/settings_table.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static int compare_endpoints(const struct endpoint *a, const struct endpoint *b)
{
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	if (a->len != b->len || a->type != b->type)
		return a->len * 256 + a->type - b->len * 256 - b->type;
	return memcmp(a->host, b->host, a->len);
}

static int compare_addresses(const struct settings_place *a, const struct settings_place *b)
{
	int order = 0;

	for (unsigned i = 0; !order && i < a->servers && i < b->servers; i++)
		order = compare_endpoints(&a->server[i], &b->server[i]);
	return order ? order : (int)a->servers - (int)b->servers;
}

int places_compare(const struct settings_place *a, const struct settings_place *b)
{
	int order = compare_addresses(a, b);

	if (!order)
		order = strcmp(a->method->name, b->method->name);
	if (!order)
		order = (int)a->mode - (int)b->mode;
	return order ? order : memcmp(a->key.key, b->key.key, sizeof a->key.key);
}

/* Twins are in the order of the file. */
static int by_place(const void *a, const void *b)
{
	const struct settings_place *const *x = a, *const *y = b;
	int order = places_compare(*x, *y);

	return order ? order : (*x > *y) - (*x < *y);
}

unsigned places_sort(const struct settings *s, const struct settings_place **sorted)
{
	unsigned n = 0;

	while (settings_place(s, n)) {
		sorted[n] = settings_place(s, n);
		n++;
	}
	qsort(sorted, n, sizeof *sorted, by_place);
	return n;
}

/* --- what may change */

/* Whether a program can do what the places of `fresh` ask for, which are not those of `s`. */
static int permit(const struct settings *s, const struct settings *fresh,
		  struct options_reason *reason)
{
	const struct settings *both[] = { s, fresh };
	const struct settings_place *place;

	if (s->workers > 1)
		return settings_fail(reason, OPTIONS_FATAL,
				     "other servers, with several workers: that takes a new start");
	if (s->nat) /* its rules name the servers, and are root's */
		return settings_fail(reason, OPTIONS_FATAL,
				     "other servers, with --nat: that takes a new start");
	for (unsigned b = 0; b < 2; b++)
		for (unsigned i = 0; (place = settings_place(both[b], i)); i++)
			if (place->plugin)
				return settings_fail(reason, OPTIONS_FATAL,
						     "other servers, with the plugin %.80s: that "
						     "takes a new start",
						     place->plugin);
	if (fresh->top.kept && fresh->top.kept->method != fresh->top.method)
		return settings_fail(reason, OPTIONS_FATAL,
				     "another method for a password that is not in the file: that "
				     "takes a new start");
	for (unsigned i = 0; s->program == PROGRAM_SERVER && (place = settings_place(fresh, i));
	     i++)
		for (unsigned j = 0; j < place->servers; j++)
			if (place->server[j].type == ENDPOINT_NAME &&
			    place->server[j].port) /* names are looked up at a start only */
				return settings_fail(reason, OPTIONS_FATAL,
						     "other servers, and %.80s is no address to "
						     "listen on: that takes a new start",
						     place->server[j].host);
	return 0;
}

/* --- which of them stay */

static struct settings_place *at(const struct settings *s, unsigned i)
{
	return (struct settings_place *)settings_place(s, i);
}

/* Who may take over: the same place, or, if not `same`, one with its addresses. Each of the old
 * ones goes to one of the new ones. */
static void link_places(const struct settings *s, const struct settings *fresh, bool *taken,
			bool same)
{
	for (unsigned i = 0; settings_place(fresh, i); i++) {
		struct settings_place *place = at(fresh, i);

		for (unsigned j = 0; !place->was && !place->heir_of && settings_place(s, j); j++) {
			const struct settings_place *old = settings_place(s, j);
			bool fits =
				same ? !places_compare(old, place) : !compare_addresses(old, place);

			if (taken[j] || !fits)
				continue;
			taken[j] = true;
			*(same ? &place->was : &place->heir_of) = j + 1;
		}
	}
}

/* Users that begin or cease to be at a place that stays: its server's key would mean something else
 * to whoever knows it. */
static int check_presence(const struct settings *s, const struct settings *fresh,
			  struct options_reason *reason)
{
	const struct settings_place *next;

	for (unsigned i = 0; (next = settings_place(fresh, i)); i++) {
		const struct settings_place *old = settings_place(s, next->was - 1);

		if (!next->was || !old->users == !next->users)
			continue;
		settings_fail(reason, OPTIONS_FATAL, "%s: that takes a new start",
			      old->users ? "there are no users any more"
					 : "there were no users when the program was started");
		return settings_concerns(fresh, next, &next->at, reason);
	}
	return 0;
}

static void swap(struct settings *s, struct settings *fresh)
{
	struct settings old = *s;

	s->top = fresh->top;
	s->elements = fresh->elements;
	s->element_count = fresh->element_count;
	s->enabled = fresh->enabled;
	s->enabled_count = fresh->enabled_count;
	fresh->top = old.top;
	fresh->elements = old.elements;
	fresh->element_count = old.element_count;
	fresh->enabled = old.enabled;
	fresh->enabled_count = old.enabled_count;
	sodium_memzero(&old, sizeof old);
}

int places_exchange(struct settings *s, struct settings *fresh, struct options_reason *reason)
{
	unsigned n = 0;
	bool *taken;

	if (permit(s, fresh, reason) < 0)
		return -1;
	while (settings_place(s, n))
		n++;
	taken = calloc(n + 1, sizeof *taken);
	if (!taken)
		return settings_fail(reason, OPTIONS_FATAL, "the servers do not fit into memory");
	link_places(s, fresh, taken, true);
	link_places(s, fresh, taken, false);
	free(taken);
	if (check_presence(s, fresh, reason) < 0)
		return -1;
	swap(s, fresh);
	s->top.kept = NULL;
	s->places_read = true;
	return 0;
}
