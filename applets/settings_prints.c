/*
 * What a configuration file says, as a list of names and keyed hashes, so that a reload can tell
 * what has changed in it without keeping it. Called by settings_read.c and settings_reload.c.
 */
#include "applets/settings_table.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* Containers lie in each other JSON_DEPTH deep at most. */
static void add(crypto_generichash_state *hash, const struct json *j)
{
	const uint32_t lengths[] = { j->type, j->name_len, j->len };

	crypto_generichash_update(hash, (const unsigned char *)lengths, sizeof lengths);
	if (j->name)
		crypto_generichash_update(hash, (const unsigned char *)j->name, j->name_len);
	if (j->text)
		crypto_generichash_update(hash, (const unsigned char *)j->text, j->len);
	for (const struct json *child = j->first; child; child = child->next)
		add(hash, child);
	crypto_generichash_update(hash, (const unsigned char *)"", 1); /* its end */
}

static struct print *find(const struct prints *prints, const char *name)
{
	for (unsigned i = 0; i < prints->count; i++)
		if (!strcmp(prints->all[i].name, name))
			return &prints->all[i];
	return NULL;
}

/* Room for one more; a key that stands twice counts as the last one says. */
static struct print *place_for(struct prints *prints, const char *name)
{
	struct print *print = find(prints, name);
	size_t n = prints->count + 1;

	if (print)
		return print;
	print = realloc(prints->all, n * sizeof *print);
	if (!print)
		return NULL;
	prints->all = print;
	print = &prints->all[prints->count++];
	snprintf(print->name, sizeof print->name, "%s", name);
	return print;
}

/* Note one member, whose name is known; `front` is of what it is a member. */
static int take(struct prints *prints, const char *front, const struct json *j)
{
	crypto_generichash_state hash;
	char name[PRINT_NAME];
	struct print *print;

	if (j->type == JSON_NULL || !strcmp(j->name, "users"))
		return 0;
	snprintf(name, sizeof name, "%s%s", front, j->name);
	print = place_for(prints, name);
	if (!print)
		return -1;
	crypto_generichash_init(&hash, prints->key, sizeof prints->key, sizeof print->hash);
	add(&hash, j);
	crypto_generichash_final(&hash, print->hash, sizeof print->hash);
	sodium_memzero(&hash, sizeof hash);
	return 0;
}

static int take_members(struct prints *prints, const struct options *o, const char *front,
			const struct json *object)
{
	for (const struct json *j = object->first; j; j = j->next)
		if (strcmp(j->name, "servers") && options_reads(o, j->name) &&
		    take(prints, front, j) < 0)
			return -1;
	return 0;
}

int prints_take(struct prints *prints, const struct options *o, enum program program,
		const struct json *root)
{
	const struct json *servers = json_member(root, "servers");
	struct settings_place none = { .servers = 0 };
	struct options element = settings_element(&none, program, NULL);
	unsigned i = 0;
	char front[32];

	if (take_members(prints, o, "", root) < 0)
		return -1;
	if (!servers || servers->type != JSON_ARRAY || !options_reads(o, "servers"))
		return 0;
	for (const struct json *j = servers->first; j; j = j->next) {
		snprintf(front, sizeof front, "servers[%u].", i++);
		if (take_members(prints, &element, front, j) < 0)
			return -1;
	}
	return 0;
}

static void tell(const char *name, char *names, size_t size)
{
	size_t n = strlen(names);

	snprintf(names + n, size - n, "%s%s", n ? ", " : "", name);
}

unsigned prints_compare(const struct prints *old, const struct prints *fresh, char *names,
			size_t size)
{
	unsigned count = 0;

	names[0] = 0;
	for (unsigned i = 0; i < fresh->count; i++) {
		const struct print *was = find(old, fresh->all[i].name);

		if (was && !memcmp(was->hash, fresh->all[i].hash, PRINT_HASH))
			continue;
		tell(fresh->all[i].name, names, size);
		count++;
	}
	for (unsigned i = 0; i < old->count; i++) {
		if (find(fresh, old->all[i].name))
			continue;
		tell(old->all[i].name, names, size);
		count++;
	}
	return count;
}

void prints_free(struct prints *prints)
{
	free(prints->all);
	sodium_memzero(prints, sizeof *prints);
}
