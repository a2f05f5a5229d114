/*
 * The options reader. Flags and keys meet in store(), which turns one value into one field by the
 * type of its row. Called by applets/settings.c, which has the rows; owns nothing but the strings
 * it puts into the caller's struct.
 */
#include "core/options.h"

#include "core/log.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WARNINGS = 20 }; /* about one file, one by one */

/* Show this much of a wrong value. */
#define SHOWN "%.60s"

static int stop(struct options *o, enum options_why why, const char *format, va_list args)
{
	size_t n = strlen(o->where);

	o->reason->why = why;
	memcpy(o->reason->text, o->where, n);
	vsnprintf(o->reason->text + n, sizeof o->reason->text - n, format, args);
	return -1;
}

/* A fatal reason behind the place in the file. */
__attribute__((format(printf, 2, 3))) static int fatal(struct options *o, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	stop(o, OPTIONS_FATAL, format, args);
	va_end(args);
	return -1;
}

/* A command line that cannot be understood. */
__attribute__((format(printf, 2, 3))) static int misused(struct options *o, const char *format, ...)
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
	return fatal(o, "%s %s", o->what, text);
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

int options_port(const char *text, uint16_t *port)
{
	unsigned n = 0;

	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9' || n > 6553)
			return -1;
		n = n * 10 + (unsigned)(*p - '0');
	}
	if (n < 1 || n > 65535)
		return -1;
	*port = (uint16_t)n;
	return 0;
}

/* What was found instead, for messages: "not %s". A value, or what kind it is of. */
static const char *found(const struct json *j, char *to, size_t n)
{
	if (j->type == JSON_NUMBER)
		snprintf(to, n, SHOWN, j->text);
	else if (j->type == JSON_STRING && json_plain(j))
		snprintf(to, n, "the string '" SHOWN "'", j->text);
	else
		snprintf(to, n, "%s", json_type_name(j));
	return to;
}

/* --- one value into one field */

static void *field_of(const struct options *o, const struct option_row *row)
{
	return (char *)o->into + row->offset;
}

const char *options_text(struct options *o, const struct option_value *value, const char *kinds)
{
	const struct json *j = value->json;

	if (!j)
		return value->text;
	if (j->type != JSON_STRING && j->type != JSON_NUMBER) {
		options_fail(o, "must be %s, not %s", kinds, json_type_name(j));
		return NULL;
	}
	if (j->type == JSON_STRING && !json_plain(j)) {
		options_fail(o, "must not have a NUL character inside");
		return NULL;
	}
	return j->text;
}

static char *copy(struct options *o, const char *text)
{
	char *own = strdup(text);

	if (!own)
		options_fail(o, "does not fit into memory");
	return own;
}

static void forget(char **string, bool secret)
{
	if (*string && secret)
		sodium_memzero(*string, strlen(*string));
	free(*string);
	*string = NULL;
}

static int store_bool(struct options *o, const struct option_row *row,
		      const struct option_value *value)
{
	bool *field = field_of(o, row), wanted = true;
	char what[100];

	if (value->json) {
		if (value->json->type != JSON_TRUE && value->json->type != JSON_FALSE)
			return options_fail(o, "must be a boolean (true or false), not %s",
					    found(value->json, what, sizeof what));
		wanted = value->json->type == JSON_TRUE;
	}
	*field = wanted;
	return 0;
}

static int store_set(struct options *o, const struct option_row *row)
{
	uint8_t *field = field_of(o, row);

	*field = (uint8_t)row->min;
	return 0;
}

static int store_string(struct options *o, const struct option_row *row,
			const struct option_value *value)
{
	char **field = field_of(o, row);
	const char *text = options_text(o, value, "a string");

	if (!text)
		return -1;
	if (row->custom && *text && row->custom(o, value) < 0)
		return -1;
	forget(field, row->bits & OPTION_SECRET);
	if (!*text)
		return 0;
	*field = copy(o, text);
	return *field ? 0 : -1;
}

/* Digits, or 0x and hexadecimal digits, between min and max. */
static int strict_number(const struct option_row *row, const char *text, unsigned *number)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = text + (hex ? 2 : 0);
	unsigned long long n;

	if (!*digits || digits[strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789")])
		return -1;
	n = strtoull(digits, NULL, hex ? 16 : 10);
	if (n < row->min || n > row->max)
		return -1;
	*number = (unsigned)n;
	return 0;
}

/* What atoi() makes of it, brought into the range. */
static unsigned lenient_number(const struct option_row *row, const char *text)
{
	long long n = strtoll(text, NULL, 10);

	return n < (long long)row->min	 ? row->min
	       : n > (long long)row->max ? row->max
					 : (unsigned)n;
}

/* Whether it is a number that could be meant, if perhaps one out of range: others are wrong even
 * where the row is lenient. */
static bool is_numeric(const struct option_row *row, const struct json *j)
{
	int64_t integer;

	if (!j)
		return true;
	if (j->type == JSON_STRING)
		return json_plain(j) && (row->bits & OPTION_TEXT);
	return j->type == JSON_NUMBER && json_integer(j, &integer) == 0;
}

static int not_a_number(struct options *o, const struct option_row *row,
			const struct option_value *value)
{
	char what[100];

	if (value->json)
		return options_fail(o, "must be an integer from %u to %u, not %s", row->min,
				    row->max, found(value->json, what, sizeof what));
	return options_fail(o, "must be an integer from %u to %u, not '" SHOWN "'", row->min,
			    row->max, value->text);
}

static unsigned make_do(struct options *o, const struct option_row *row, const char *text)
{
	unsigned n = lenient_number(row, text);

	if (!n && row->zero)
		options_warn(o, "should be an integer from %u to %u, not '" SHOWN "': %s is used",
			     row->min, row->max, text, row->zero);
	else
		options_warn(o, "should be an integer from %u to %u, not '" SHOWN "': %u is used",
			     row->min, row->max, text, n);
	return n;
}

static int store_number(struct options *o, const struct option_row *row,
			const struct option_value *value)
{
	const struct json *j = value->json;
	bool has_text = !j || j->type == JSON_NUMBER || (j->type == JSON_STRING && json_plain(j));
	unsigned *field = field_of(o, row), n;
	const char *text = j ? j->text : value->text;

	if (!has_text || strict_number(row, text, &n) < 0) {
		if (!(row->bits & OPTION_LENIENT) || !is_numeric(row, j))
			return not_a_number(o, row, value);
		n = make_do(o, row, text);
	}
	*field = n;
	return 0;
}

static int store_port(struct options *o, const struct option_row *row,
		      const struct option_value *value)
{
	const char *text = options_text(o, value, "a port");

	if (!text)
		return -1;
	if (options_port(text, field_of(o, row)) < 0)
		return options_fail(o, "must be a port from 1 to 65535, not '" SHOWN "'", text);
	return 0;
}

static int store_list(struct options *o, const struct option_row *row,
		      const struct option_value *value)
{
	const struct json *j = value->json;
	const char *text;

	if (!j)
		return row->custom(o, value);
	if (row->custom(o, &(struct option_value){ 0 }) < 0)
		return -1;
	if (j->type != JSON_ARRAY) {
		text = options_text(o, value, "a string or an array of strings");
		return text ? row->custom(o, &(struct option_value){ .text = text }) : -1;
	}
	for (j = j->first; j; j = j->next) {
		options_at(o, j);
		text = options_text(o, &(struct option_value){ .json = j }, "an array of strings");
		if (!text || row->custom(o, &(struct option_value){ .text = text }) < 0)
			return -1;
	}
	return 0;
}

/* "tcp_only, tcp_and_udp or udp_only" */
static const char *words_of(const struct option_row *row, char *to, size_t n)
{
	unsigned first = *row->words[0] ? 0 : 1; /* nothing is a word, too, but no name for it */
	size_t used = 0;

	to[0] = 0;
	for (unsigned i = first; row->words[i] && used < n; i++)
		used += (size_t)snprintf(to + used, n - used, "%s%s",
					 i == first	     ? ""
					 : row->words[i + 1] ? ", "
							     : " or ",
					 row->words[i]);
	return to;
}

static int store_word(struct options *o, const struct option_row *row,
		      const struct option_value *value)
{
	uint8_t *field = field_of(o, row);
	const char *text = options_text(o, value, "a string");
	uint8_t i = 0;
	char all[200];

	if (!text)
		return -1;
	while (row->words[i] && strcmp(row->words[i], text))
		i++;
	if (!row->words[i]) {
		if (*text)
			options_warn(o, "should be %s, not '" SHOWN "': %s is used",
				     words_of(row, all, sizeof all), text,
				     *row->words[0] ? row->words[0] : "that of the top level");
		i = 0;
	}
	*field = i;
	return 0;
}

static int store(struct options *o, const struct option_row *row, const struct option_value *value)
{
	if (value->json && value->json->type == JSON_NULL && row->type != OPTION_REFUSE)
		return 0;
	switch ((enum option_type)row->type) {
	case OPTION_BOOL:
		return store_bool(o, row, value);
	case OPTION_SET:
		return store_set(o, row);
	case OPTION_STRING:
		return store_string(o, row, value);
	case OPTION_NUMBER:
		return store_number(o, row, value);
	case OPTION_PORT:
		return store_port(o, row, value);
	case OPTION_LIST:
		return store_list(o, row, value);
	case OPTION_WORD:
		return store_word(o, row, value);
	case OPTION_CUSTOM:
		return row->custom(o, value);
	case OPTION_STOP:
		o->reason->why = (enum options_why)row->min;
		return -1;
	case OPTION_REFUSE:
		return fatal(o, "%s", row->help);
	case OPTION_IGNORE:
		return 0;
	}
	return 0;
}

/* --- flags */

static bool takes(const struct options *o, const struct option_row *row)
{
	return row->programs & o->program;
}

/* Store what a flag says; `text` is its argument and lies in argv. */
static int flag(struct options *o, const struct option_row *row, const char *what, char *text)
{
	int result;

	o->where[0] = 0;
	snprintf(o->what, sizeof o->what, "option %s", what);
	if (text && !*text && (row->bits & OPTION_FILLED))
		return options_fail(o, "must not be empty");
	o->given[row - o->rows] = true;
	result = store(o, row, &(struct option_value){ .text = text });
	if (text && (row->bits & OPTION_SECRET))
		sodium_memzero(text, strlen(text));
	return result;
}

/* The row with a letter, or NULL. */
static const struct option_row *by_letter(const struct options *o, char letter)
{
	for (unsigned i = 0; i < o->count; i++) {
		if (o->rows[i].letter == letter && takes(o, &o->rows[i]))
			return &o->rows[i];
	}
	return NULL;
}

/* argv[0] is "-xyz": the words used, or -1. */
static int cluster(struct options *o, int argc, char **argv)
{
	for (char *p = argv[0] + 1; *p; p++) {
		const struct option_row *row = by_letter(o, *p);
		const char name[] = { '-', *p, 0 };

		if (!row)
			return misused(o, "Unrecognized option: %s", name);
		if (!row->argument) {
			if (flag(o, row, name, NULL) < 0)
				return -1;
			continue;
		}
		if (p[1])
			return flag(o, row, name, p + 1) < 0 ? -1 : 1;
		if (argc < 2)
			return misused(o, "option %s needs an argument: %s", name, row->argument);
		return flag(o, row, name, argv[1]) < 0 ? -1 : 2;
	}
	return 1;
}

/* The row of a long name that may be abbreviated: an exact one, else the only one that begins so,
 * where rows of ours count only if no other does. *candidates: how many begin so. */
static const struct option_row *by_name(const struct options *o, const char *name, size_t n,
					unsigned *candidates)
{
	const struct option_row *found = NULL;

	*candidates = 0;
	for (unsigned i = 0; i < o->count; i++) {
		const struct option_row *row = &o->rows[i];

		if (!row->name || !takes(o, row) || strncmp(row->name, name, n))
			continue;
		if (!row->name[n]) {
			*candidates = 1;
			return row;
		}
		if (!found || ((found->bits & ~row->bits) & OPTION_OURS)) {
			found = row;
			*candidates = 1;
		} else if (!((row->bits & ~found->bits) & OPTION_OURS)) {
			++*candidates;
		}
	}
	return found;
}

/* argv[0] is "--name" or "--name=argument": the words used, or -1. */
static int long_option(struct options *o, int argc, char **argv)
{
	char *equals = strchr(argv[0], '=');
	size_t n = equals ? (size_t)(equals - argv[0]) : strlen(argv[0]);
	unsigned candidates;
	const struct option_row *row = by_name(o, argv[0] + 2, n - 2, &candidates);
	char name[sizeof o->what / 2];

	if (!row)
		return misused(o, "Unrecognized option: %.*s", (int)(n > 60 ? 60 : n), argv[0]);
	if (candidates > 1)
		return misused(o, "option %.*s may mean several", (int)(n > 60 ? 60 : n), argv[0]);
	snprintf(name, sizeof name, "--%s", row->name);
	if (!row->argument) {
		if (equals)
			return misused(o, "option %s takes no argument", name);
		return flag(o, row, name, NULL) < 0 ? -1 : 1;
	}
	if (equals)
		return flag(o, row, name, equals + 1) < 0 ? -1 : 1;
	if (argc < 2)
		return misused(o, "option %s needs an argument: %s", name, row->argument);
	return flag(o, row, name, argv[1]) < 0 ? -1 : 2;
}

int options_flags(struct options *o, int argc, char **argv)
{
	for (int i = 1, used; i < argc; i += used) {
		if (!strcmp(argv[i], "--"))
			break;
		if (argv[i][0] == '-' && argv[i][1] == '-')
			used = long_option(o, argc - i, argv + i);
		else if (argv[i][0] == '-' && argv[i][1])
			used = cluster(o, argc - i, argv + i);
		else
			used = 1; /* an operand: ignored, as ever */
		if (used < 0)
			return -1;
	}
	return 0;
}

/* --- keys */

/* The row of a key that this program reads, or NULL. */
static const struct option_row *by_key(const struct options *o, const char *key)
{
	for (unsigned i = 0; i < o->count; i++) {
		if (o->rows[i].key && takes(o, &o->rows[i]) && !strcmp(o->rows[i].key, key))
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
		if (o->rows[i].offset == offset && takes(o, &o->rows[i]))
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
	options_warn(o, "is for %s, ignored", names);
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
	return store(o, row, &(struct option_value){ .json = j });
}

/* Whether to go on after this fault. */
static bool told(struct options *o)
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
		return fatal(o, "Invalid config file: it must be an object ('{'), not %s",
			     json_type_name(root));
	for (const struct json *j = root->first; j; j = j->next) {
		options_at(o, j);
		snprintf(o->what, sizeof o->what, "key '" SHOWN "'", j->name);
		if (member(o, j) == 0)
			continue;
		result = -1;
		if (!told(o))
			return -1;
	}
	if (!o->whole && o->warnings > WARNINGS)
		log_warn("%s: ... and %u more warnings like these", file, o->warnings - WARNINGS);
	return result;
}

/* --- help and end */

static void help_line(const struct option_row *row, FILE *to)
{
	char left[80];
	int n;

	n = row->letter ? snprintf(left, sizeof left, "  -%c%s", row->letter, row->name ? ", " : "")
			: snprintf(left, sizeof left, "      ");
	if (row->name)
		n += snprintf(left + n, sizeof left - (size_t)n, "--%s", row->name);
	if (row->argument)
		snprintf(left + n, sizeof left - (size_t)n, " %s", row->argument);
	fprintf(to, "%-33s %s\n", left, row->help);
}

void options_help(const struct options *o, FILE *to)
{
	for (unsigned i = 0; i < o->count; i++) {
		const struct option_row *row = &o->rows[i];

		if (takes(o, row) && (row->letter || row->name) && !(row->bits & OPTION_HIDDEN))
			help_line(row, to);
	}
}

int options_own(struct options *o)
{
	int result = 0;

	for (unsigned i = 0; i < o->count; i++) {
		const struct option_row *row = &o->rows[i];
		char **field = field_of(o, row);
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
			forget(field_of(o, &o->rows[i]), o->rows[i].bits & OPTION_SECRET);
	}
}
