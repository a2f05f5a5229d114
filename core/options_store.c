/*
 * One value into one field, by the type of its row; whether it came as a flag or as a key only
 * shows in what is said of a wrong one.
 */
#include "core/options_store.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

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

const char *options_help_line(const struct option_row *row)
{
	return row->flag + strlen(row->flag) + 1;
}

void *options_field(const struct options *o, const struct option_row *row)
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

void options_forget(char **string, bool secret)
{
	if (*string && secret)
		sodium_memzero(*string, strlen(*string));
	free(*string);
	*string = NULL;
}

static int store_bool(struct options *o, const struct option_row *row,
		      const struct option_value *value)
{
	bool *field = options_field(o, row), wanted = true;
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
	uint8_t *field = options_field(o, row);

	*field = row->value;
	return 0;
}

static int store_string(struct options *o, const struct option_row *row,
			const struct option_value *value)
{
	char **field = options_field(o, row);
	const char *text = options_text(o, value, "a string");

	if (!text)
		return -1;
	if (row->custom && *text && row->custom(o, value) < 0)
		return -1;
	options_forget(field, row->bits & OPTION_SECRET);
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
	if (n < row->range.min || n > row->range.max)
		return -1;
	*number = (unsigned)n;
	return 0;
}

/* What atoi() makes of it, brought into the range. */
static unsigned lenient_number(const struct option_row *row, const char *text)
{
	long long n = strtoll(text, NULL, 10);

	return n < (long long)row->range.min   ? row->range.min
	       : n > (long long)row->range.max ? row->range.max
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
		return options_fail(o, "must be an integer from %u to %u, not %s", row->range.min,
				    row->range.max, found(value->json, what, sizeof what));
	return options_fail(o, "must be an integer from %u to %u, not '" SHOWN "'", row->range.min,
			    row->range.max, value->text);
}

static unsigned make_do(struct options *o, const struct option_row *row, const char *text)
{
	const char *normal = strrchr(options_help_line(row), '(');
	unsigned n = lenient_number(row, text);
	char instead[60];

	if (!n && row->bits & OPTION_ZERO)
		snprintf(instead, sizeof instead, "the default, %.*s,",
			 (int)strcspn(normal + 1, ")"), normal + 1);
	else
		snprintf(instead, sizeof instead, "%u", n);
	options_warn(o, "should be an integer from %u to %u, not '" SHOWN "': %s is used",
		     row->range.min, row->range.max, text, instead);
	return n;
}

static int store_number(struct options *o, const struct option_row *row,
			const struct option_value *value)
{
	const struct json *j = value->json;
	bool has_text = !j || j->type == JSON_NUMBER || (j->type == JSON_STRING && json_plain(j));
	unsigned *field = options_field(o, row), n;
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
	if (options_port(text, options_field(o, row)) < 0)
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
	uint8_t *field = options_field(o, row);
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

int options_store(struct options *o, const struct option_row *row, const struct option_value *value)
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
		o->reason->why = (enum options_why)row->value;
		return -1;
	case OPTION_REFUSE:
		return options_fatal(o, "%s", options_help_line(row));
	case OPTION_IGNORE:
		return 0;
	}
	return 0;
}
