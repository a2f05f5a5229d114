/*
 * What a configuration file says, as a list of names and keyed hashes, so that a reload can tell
 * what has changed in it without keeping it. Called by settings_read.c and settings_reload.c. The
 * elements of a server's `servers` are compared by settings_users.c, wherever in the list they are.
 */
#include "applets/settings_table.h"

#include "crypto/sha1.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* Containers lie in each other JSON_DEPTH deep at most. */
static void add(struct sha1_hmac *hash, const struct json *j)
{
	const uint32_t lengths[] = { j->type, j->name_len, j->len };

	sha1_hmac_add(hash, lengths, sizeof lengths);
	if (j->name)
		sha1_hmac_add(hash, j->name, j->name_len);
	if (j->text)
		sha1_hmac_add(hash, j->text, j->len);
	for (const struct json *child = j->first; child; child = child->next)
		add(hash, child);
	sha1_hmac_add(hash, "", 1); /* its end */
}

/* Room for one more; a key that stands twice in an object, whose prints begin with the first,
 * counts as the last one says. */
static struct print *place_for(struct prints *prints, unsigned first, const char *name)
{
	struct print *print;
	size_t n = prints->count;

	for (unsigned i = first; i < n; i++)
		if (!strcmp(prints->all[i].name, name))
			return &prints->all[i];
	if ((n & (n - 1)) == 0) { /* full at each power of two */
		print = realloc(prints->all, (n ? 2 * n : 1) * sizeof *print);
		if (!print)
			return NULL;
		prints->all = print;
	}
	print = &prints->all[prints->count++];
	*print = (struct print){ .hash = { 0 } };
	snprintf(print->name, sizeof print->name, "%s", name);
	return print;
}

/* Note one member, whose name is known; `front` is of what it is a member. */
static int take(struct prints *prints, unsigned first, const char *front, const struct json *j)
{
	struct sha1_hmac hash;
	char name[PRINT_NAME];
	struct print *print;

	if (j->type == JSON_NULL || !strcmp(j->name, "users") || !strcmp(j->name, "port_password"))
		return 0;
	snprintf(name, sizeof name, "%s%s", front, j->name);
	print = place_for(prints, first, name);
	if (!print)
		return -1;
	sha1_hmac_begin(&hash, prints->key, sizeof prints->key);
	add(&hash, j);
	sha1_hmac_end(&hash, print->hash);
	return 0;
}

/* What makes a place: whether that has changed is found out by settings_changes.c. */
static bool is_of_place(const char *name)
{
	static const char *const names[] = { "server",	 "server_port",	  "method",
					     "password", "password_file", "key" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int take_members(struct prints *prints, const struct options *o, const char *front,
			const struct json *object)
{
	unsigned first = prints->count;

	for (const struct json *j = object->first; j; j = j->next)
		if (strcmp(j->name, "servers") &&
		    !(o->program != PROGRAM_MANAGER && is_of_place(j->name)) &&
		    options_reads(o, j->name) && take(prints, first, front, j) < 0)
			return -1;
	return 0;
}

int prints_take(struct prints *prints, const struct options *o, const struct json *root)
{
	return take_members(prints, o, "", root);
}

static void tell(const char *name, char *names, size_t size)
{
	size_t n = strlen(names);

	snprintf(names + n, size - n, "%s%s", n ? ", " : "", name);
}

static int by_name(const void *a, const void *b)
{
	const struct print *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Pointers to them all, sorted by name; NULL: no memory. */
static const struct print **sort(const struct prints *prints)
{
	const struct print **sorted = malloc((prints->count + 1) * sizeof *sorted);

	for (unsigned i = 0; sorted && i < prints->count; i++)
		sorted[i] = &prints->all[i];
	if (sorted)
		qsort(sorted, prints->count, sizeof *sorted, by_name);
	return sorted;
}

/* Tell what is in `prints` and not, or, if `both`, not the same among n others. */
static unsigned tell_missing(const struct prints *prints, const struct print **others, unsigned n,
			     bool both, char *names, size_t size)
{
	unsigned count = 0;

	for (unsigned i = 0; i < prints->count; i++) {
		const struct print *print = &prints->all[i];
		const struct print **other = bsearch(&print, others, n, sizeof *others, by_name);

		if (other && (!both || !memcmp((*other)->hash, print->hash, PRINT_HASH)))
			continue;
		tell(print->name, names, size);
		count++;
	}
	return count;
}

unsigned prints_compare(const struct prints *old, const struct prints *fresh, char *names,
			size_t size)
{
	const struct print **was = sort(old), **is = sort(fresh);
	unsigned count = 0;

	names[0] = 0;
	if (was && is)
		count = tell_missing(fresh, was, old->count, true, names, size) +
			tell_missing(old, is, fresh->count, false, names, size);
	free(was);
	free(is);
	return count;
}

void prints_free(struct prints *prints)
{
	free(prints->all);
	sodium_memzero(prints, sizeof *prints);
}
