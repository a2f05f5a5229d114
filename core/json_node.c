/*
 * What is asked of values that were read.
 */
#include "core/json.h"

#include <string.h>

const struct json *json_member(const struct json *object, const char *wanted)
{
	size_t n = strlen(wanted);
	const struct json *found = NULL;

	if (object->type != JSON_OBJECT)
		return NULL;
	for (const struct json *j = object->first; j; j = j->next) {
		if (j->name_len == n && !memcmp(j->name, wanted, n))
			found = j;
	}
	return found;
}

bool json_plain(const struct json *node)
{
	return node->type == JSON_STRING && !memchr(node->text, 0, node->len);
}

int json_integer(const struct json *node, int64_t *result)
{
	uint64_t sum = 0, limit = INT64_MAX;
	const char *p = node->text;
	bool negative;

	if (node->type != JSON_NUMBER)
		return -1;
	negative = *p == '-';
	p += negative;
	limit += negative;
	for (; *p; p++) {
		unsigned d = (unsigned)(*p - '0');

		if (d > 9 || sum > (limit - d) / 10)
			return -1;
		sum = sum * 10 + d;
	}
	/* In two halves, because the smallest integer has no positive counterpart. */
	*result = negative ? -(int64_t)(sum / 2) - (int64_t)(sum - sum / 2) : (int64_t)sum;
	return 0;
}

const char *json_type_name(const struct json *node)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",	     [JSON_FALSE] = "false",	 [JSON_TRUE] = "true",
		[JSON_NUMBER] = "a number",  [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object",
	};

	return names[node->type];
}
