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
	int result = 0;

	if (!place->users)
		return 0;
	if (!secret_has_users(method)) {
		settings_fail(reason, OPTIONS_FATAL,
			      "%s has no users: only the AES methods of 2022 have", method->name);
		return settings_concerns(s, place, &place->users[0].at, reason);
	}
	for (unsigned i = 0; i < place->user_count; i++) {
		struct settings_user *user = &place->users[i];

		if (make_user(user, method, key, reason) == 0)
			continue;
		result = settings_concerns(s, place, &user->at, reason);
		if (!settings_told(s, reason))
			return -1;
	}
	return result < 0 ? -1 : check_doubles(s, place, reason);
}

/* --- other users, while the program runs */

static void exchange_users(struct settings_place *a, struct settings_place *b)
{
	struct settings_user *users = a->users;
	unsigned count = a->user_count;

	a->users = b->users;
	a->user_count = b->user_count;
	b->users = users;
	b->user_count = count;
}

/* Both are sorted, and have the same places in the same order. */
static bool are_same(const struct settings_place **places, const struct settings_place **next,
		     unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (places_compare(places[i], next[i]) != 0 || !places[i]->users != !next[i]->users)
			return false;
	return true;
}

int places_exchange_users(struct settings *s, struct settings *fresh, struct options_reason *reason)
{
	size_t n = 2 + (size_t)s->enabled_count + fresh->enabled_count;
	const struct settings_place **places = calloc(n, sizeof *places), **next;
	unsigned count;
	int result = 0;

	if (!places)
		return settings_fail(reason, OPTIONS_FATAL, "the servers do not fit into memory");
	count = places_sort(s, places);
	next = places + count;
	if (places_sort(fresh, next) == count && are_same(places, next, count))
		for (unsigned i = 0; i < count; i++)
			exchange_users((struct settings_place *)places[i],
				       (struct settings_place *)next[i]);
	else
		result = places_exchange(s, fresh, reason);
	free(places);
	return result;
}
