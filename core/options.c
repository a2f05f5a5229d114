/*
 * The options reader: its reasons and warnings, the keys of a file, the help text. Flags are in
 * options_flags.c; both hand each value to options_store.c. Called by applets, which have
 * the rows; owns nothing but the strings it puts into the caller's struct.
 */
#include "core/options.h"

#include "core/log.h"
#include "core/options_store.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WARNINGS = 20 }; /* about one file, one by one */

static int stop(struct options *o, enum options_why why, const char *format, va_list args)
{
	size_t n = strlen(o->where);

	o->reason->why = why;
	memcpy(o->reason->text, o->where, n);
	vsnprintf(o->reason->text + n, sizeof o->reason->text - n, format, args);
	return -1;
}

int options_fatal(struct options *o, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	stop(o, OPTIONS_FATAL, format, args);
	va_end(args);
	return -1;
}

int options_misused(struct options *o, const char *format, ...)
{
	va_list args;

	o->where[0] = 0;
	va_start(args, format);
	stop(o, OPTIONS_USAGE, format, args);
	va_end(args);
	return -1;
}

int options_fail(struct options *o, const char *format, ...)
{
	char text[OPTION_REASON_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return options_fatal(o, "%s %s", o->what, text);
}

void options_warn(struct options *o, const char *format, ...)
{
	struct options *whole = o->whole ? o->whole : o;
	char text[OPTION_REASON_MAX];
	va_list args;

	if (o->where[0] && ++whole->warnings > WARNINGS)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	log_warn("%s%s %s", o->where, o->what, text);
}

void options_at(struct options *o, const struct json *at)
{
	/* Of a long path the end is shown, which tells more. */
	const size_t n = strlen(o->file), room = sizeof o->where - 32;

	snprintf(o->where, sizeof o->where, "%s:%u:%u: ", o->file + (n > room ? n - room : 0),
		 (unsigned)at->line, (unsigned)at->column);
}

bool options_takes(const struct options *o, const struct option_row *row)
{
	return row->programs & o->program;
}

bool options_lacks(const struct options *o, const struct option_row *row)
{
	return row->needs & o->lacks;
}

/* --- keys */

/* The row of a key that this program reads, or NULL. */
static const struct option_row *by_key(const struct options *o, const char *key)
{
	for (unsigned i = 0; i < o->count; i++) {
		if (o->rows[i].key && options_takes(o, &o->rows[i]) && !strcmp(o->rows[i].key, key))
			return &o->rows[i];
	}
	return NULL;
}

/* A flag has set the same thing. */
static bool overruled(const struct options *o, const struct option_row *row)
{
	for (unsigned i = 0; i < o->count; i++) {
		if (o->given[i] && o->rows[i].offset == row->offset &&
		    o->rows[i].type != OPTION_IGNORE)
			return true;
	}
	return false;
}

void options_give(struct options *o, size_t offset)
{
	for (unsigned i = 0; i < o->count; i++) {
		if (o->rows[i].offset == offset && options_takes(o, &o->rows[i]))
			o->given[i] = true;
	}
}

bool options_reads(const struct options *o, const char *key)
{
	const struct option_row *row = by_key(o, key);

	return row && row->type != OPTION_IGNORE && !overruled(o, row);
}

/* A key that this program does not read: say whose it is, or that it is nobody's. */
static void ignored(struct options *o, const char *key)
{
	unsigned others = 0;
	char names[128];
	size_t used = 0;

	for (unsigned i = 0; i < o->count; i++) {
		if (o->rows[i].key && !strcmp(o->rows[i].key, key))
			others |= o->rows[i].programs;
	}
	if (!others) {
		options_warn(o, "is not known, ignored");
		return;
	}
	for (unsigned bit = 1; bit <= others && used < sizeof names; bit <<= 1) {
		if (others & bit)
			used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
						 used ? ", " : "", o->program_name(bit));
	}
	if (!o->shared)
		options_warn(o, "is for %s, ignored", names);
}

/* Nothing, in any of the ways in which files that a program writes say so. */
static bool says_nothing(const struct json *j)
{
	return j->type == JSON_NULL || (j->type == JSON_STRING && j->len == 0);
}

static int member(struct options *o, const struct json *j)
{
	const struct option_row *row = strlen(j->name) == j->name_len ? by_key(o, j->name) : NULL;

	if (!row) {
		ignored(o, j->name);
		return 0;
	}
	if (o->seen[row - o->rows])
		options_warn(o, "is there more than once, the last one counts");
	o->seen[row - o->rows] = true;
	if (row->type != OPTION_REFUSE && overruled(o, row))
		return 0;
	if (options_lacks(o, row) && !says_nothing(j))
		return options_fail(o, "is not in this build, which was made without %s",
				    o->without);
	return options_store(o, row, &(struct option_value){ .json = j });
}

bool options_told(struct options *o)
{
	if (!o->tell)
		return false;
	if (o->reason->text[0]) /* else each part of it was told */
		o->tell(o->reason->text);
	o->reason->text[0] = 0;
	return true;
}

int options_json(struct options *o, const char *file, const struct json *root)
{
	int result = 0;

	o->file = file;
	options_at(o, root);
	if (root->type != JSON_OBJECT)
		return options_fatal(o, "Invalid config file: it must be an object ('{'), not %s",
				     json_type_name(root));
	for (const struct json *j = root->first; j; j = j->next) {
		options_at(o, j);
		snprintf(o->what, sizeof o->what, "key '" SHOWN "'", j->name);
		if (member(o, j) == 0)
			continue;
		result = -1;
		if (!options_told(o))
			return -1;
	}
	if (!o->whole && o->warnings > WARNINGS)
		log_warn("%s: ... and %u more warnings like these", file, o->warnings - WARNINGS);
	return result;
}

/* --- help and end */

void options_help(const struct options *o, FILE *to)
{
	for (unsigned i = 0; i < o->count; i++) {
		const struct option_row *row = &o->rows[i];

		if (options_takes(o, row) && !options_lacks(o, row) && row->flag &&
		    !(row->bits & OPTION_HIDDEN)) {
			int indent = row->flag[1] == '-' ? 6 : 2; /* as if it had a letter */

			fprintf(to, "%*s%-*s %s\n", indent, "", 33 - indent, row->flag,
				options_help_line(row));
		}
	}
}

int options_own(struct options *o)
{
	int result = 0;

	for (unsigned i = 0; i < o->count; i++) {
		const struct option_row *row = &o->rows[i];
		char **field = options_field(o, row);
		bool first = row->type == OPTION_STRING;

		for (unsigned j = 0; j < i && first; j++)
			first = o->rows[j].type != OPTION_STRING ||
				o->rows[j].offset != row->offset;
		if (!first || !*field)
			continue;
		*field = row->bits & OPTION_SECRET ? NULL : strdup(*field);
		if (!*field && !(row->bits & OPTION_SECRET))
			result = -1;
	}
	return result;
}

void options_free(struct options *o)
{
	for (unsigned i = 0; i < o->count; i++) {
		if (o->rows[i].type == OPTION_STRING)
			options_forget(options_field(o, &o->rows[i]),
				       o->rows[i].bits & OPTION_SECRET);
	}
}
