/*
 * The users of a server's places: their keys, whether they differ, and those that follow them when
 * the configuration file is read again. Called by settings_places.c and settings_reload.c.
 */
#include "applets/settings.h"

#include "applets/secret.h"
#include "applets/settings_table.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
	const struct settings_user *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int by_key(const void *a, const void *b)
{
	const struct settings_user *const *x = a, *const *y = b;

	return memcmp((*x)->key, (*y)->key, WIRE_KEY_MAX);
}

/* Sorted, those that are alike stand side by side. The later one in the file is at fault; NULL:
 * none is. */
static const struct settings_user *find_double(const struct settings_user **sorted, unsigned n,
					       int (*order)(const void *, const void *),
					       struct options_reason *reason)
{
	qsort(sorted, n, sizeof *sorted, order);
	for (unsigned i = 1; i < n; i++) {
		if (order(&sorted[i - 1], &sorted[i]))
			continue;
		bool turned = sorted[i - 1] > sorted[i];
		const struct settings_user *first = sorted[i - !turned], *last = sorted[i - turned];

		if (order == by_name)
			settings_fail(reason, OPTIONS_FATAL, "there are two users named '%.80s'",
				      last->name);
		else
			settings_fail(reason, OPTIONS_FATAL,
				      "users '%.80s' and '%.80s' have the same key", first->name,
				      last->name);
		return last;
	}
	return NULL;
}

static int check_doubles(const struct settings *s, const struct settings_place *place,
			 struct options_reason *reason)
{
	const struct settings_user **sorted = malloc(place->user_count * sizeof *sorted);
	const struct settings_user *wrong;

	if (!sorted)
		return settings_fail(reason, OPTIONS_FATAL, "the users do not fit into memory");
	for (unsigned i = 0; i < place->user_count; i++)
		sorted[i] = &place->users[i];
	wrong = find_double(sorted, place->user_count, by_name, reason);
	if (!wrong)
		wrong = find_double(sorted, place->user_count, by_key, reason);
	free(sorted);
	return wrong ? settings_concerns(s, place, &wrong->at, reason) : 0;
}

static int make_user(struct settings_user *user, const struct wire_method *method,
		     const struct wire_key *key, struct options_reason *reason)
{
	if (secret_psk(method, user->password, strlen(user->password), user->key, reason) < 0) {
		settings_about(reason, "user '%.60s'", user->name);
		return -1;
	}
	if (!sodium_memcmp(user->key, key->key, key->key_len))
		return settings_fail(reason, OPTIONS_FATAL,
				     "user '%.80s' has the key of the server itself", user->name);
	return 0;
}

int places_make_users(const struct settings *s, struct settings_place *place,
		      const struct wire_method *method, const struct wire_key *key,
		      struct options_reason *reason)
{
	if (!place->users)
		return 0;
	if (!secret_has_users(method)) {
		settings_fail(reason, OPTIONS_FATAL,
			      "%s has no users: only the AES methods of 2022 have", method->name);
		return settings_concerns(s, place, &place->users[0].at, reason);
	}
	for (unsigned i = 0; i < place->user_count; i++) {
		struct settings_user *user = &place->users[i];

		if (make_user(user, method, key, reason) < 0)
			return settings_concerns(s, place, &user->at, reason);
	}
	return check_doubles(s, place, reason);
}

/* --- other users, while the program runs */

static int compare_addresses(const struct endpoint *a, const struct endpoint *b)
{
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	if (a->len != b->len || a->type != b->type)
		return a->len * 256 + a->type - b->len * 256 - b->type;
	return memcmp(a->host, b->host, a->len);
}

/* What makes two elements of `servers` the same: where, how, and with which key. */
static int compare(const struct settings_place *a, const struct settings_place *b)
{
	int order = 0;

	for (unsigned i = 0; !order && i < a->servers && i < b->servers; i++)
		order = compare_addresses(&a->server[i], &b->server[i]);
	if (!order)
		order = (int)a->servers - (int)b->servers;
	if (!order)
		order = strcmp(a->method->name, b->method->name);
	if (!order)
		order = (int)a->mode - (int)b->mode;
	return order ? order : memcmp(a->key.key, b->key.key, sizeof a->key.key);
}

/* Twins are in the order of the file. */
static int by_place(const void *a, const void *b)
{
	struct settings_place *const *x = a, *const *y = b;
	int order = compare(*x, *y);

	return order ? order : (*x > *y) - (*x < *y);
}

static void sort_places(struct settings *s, struct settings_place **sorted)
{
	for (unsigned i = 0; i < s->enabled_count; i++)
		sorted[i] = &s->elements[s->enabled[i]];
	qsort(sorted, s->enabled_count, sizeof *sorted, by_place);
}

/* An element, of settings that the program has or that it has read, which has no match there. */
static int no_match(const struct settings *s, const struct settings_place *place, const char *what,
		    const struct settings_spot *at, struct options_reason *reason)
{
	char text[ENDPOINT_TEXT];

	settings_fail(reason, OPTIONS_FATAL, "%.250s with %s %s: that takes a new start",
		      endpoint_print(&place->server[0], text, sizeof text), place->method->name,
		      what);
	return settings_concerns(s, place, at, reason);
}

/* May the users of `next`, a place of `fresh`, follow those of `place`? */
static int check_presence(const struct settings_place *place, const struct settings *fresh,
			  const struct settings_place *next, struct options_reason *reason)
{
	if (!place->users == !next->users)
		return 0;
	settings_fail(reason, OPTIONS_FATAL, "%s: that takes a new start",
		      place->users ? "there are no users any more"
				   : "there were no users when the program was started");
	return settings_concerns(fresh, next, &next->at, reason);
}

/* Both lists are sorted: is what they have the same? */
static int match(const struct settings *s, struct settings_place **places,
		 const struct settings *fresh, struct settings_place **next,
		 struct options_reason *reason)
{
	static const struct settings_spot nowhere = { 0, 0 };

	for (unsigned i = 0; i < s->enabled_count || i < fresh->enabled_count; i++) {
		int order = i == s->enabled_count	? 1
			    : i == fresh->enabled_count ? -1
							: compare(places[i], next[i]);

		if (order < 0)
			return no_match(s, places[i], "has gone, or changed", &nowhere, reason);
		if (order > 0)
			return no_match(fresh, next[i], "is new, or has changed", &next[i]->at,
					reason);
		if (check_presence(places[i], fresh, next[i], reason) < 0)
			return -1;
	}
	return 0;
}

static void exchange_users(struct settings_place *a, struct settings_place *b)
{
	struct settings_user *users = a->users;
	unsigned count = a->user_count;

	a->users = b->users;
	a->user_count = b->user_count;
	b->users = users;
	b->user_count = count;
}

/* The top level may have changed in the file; the users must suit what it is. */
static int check_top(struct settings *s, struct settings *fresh, struct options_reason *reason)
{
	if (check_presence(&s->top, fresh, &fresh->top, reason) < 0)
		return -1;
	return places_make_users(fresh, &fresh->top, s->top.method, &s->top.key, reason);
}

int places_exchange_users(struct settings *s, struct settings *fresh, struct options_reason *reason)
{
	size_t n = (size_t)s->enabled_count + fresh->enabled_count + 1;
	struct settings_place **places, **next;
	int result;

	if (check_top(s, fresh, reason) < 0)
		return -1;
	places = malloc(n * sizeof *places);
	if (!places)
		return settings_fail(reason, OPTIONS_FATAL, "the servers do not fit into memory");
	next = places + s->enabled_count;
	sort_places(s, places);
	sort_places(fresh, next);
	/* Where there was no list, one is said to be without effect. */
	result = s->element_count ? match(s, places, fresh, next, reason) : 0;
	if (result == 0)
		exchange_users(&s->top, &fresh->top);
	for (unsigned i = 0; result == 0 && i < s->enabled_count; i++)
		exchange_users(places[i], next[i]);
	free(places);
	return result;
}
