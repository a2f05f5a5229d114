/* See nameservers.h. Both forms are cut into words, and each word is read by endpoint_parse(). */
#include "net/nameservers.h"

#include <string.h>

struct word {
	char text[ENDPOINT_NAME_MAX + 1];
};

/* The next word before `end`, with `at` moved behind it: its length, 0 if there is none. Longer
 * words than any name are cut, and no name then. */
static size_t next_word(const char **at, const char *end, const char *between, struct word *word)
{
	while (*at < end && (**at == '\0' || strchr(between, **at) != NULL))
		++*at;
	const char *start = *at;
	while (*at < end && **at != '\0' && strchr(between, **at) == NULL)
		++*at;
	size_t n = (size_t)(*at - start);
	if (n > ENDPOINT_NAME_MAX)
		n = ENDPOINT_NAME_MAX;
	memcpy(word->text, start, n);
	word->text[n] = '\0';
	return n;
}

static int add_server(struct nameservers *to, const char *text)
{
	struct nameserver server;
	struct endpoint endpoint;

	memset(&server, 0, sizeof(server)); /* the gaps too: lists are compared as bytes */
	if (endpoint_parse(&endpoint, text, NAMESERVER_PORT) < 0 ||
	    !endpoint_address(&endpoint, &server.address))
		return -1;
	server.port = endpoint.port;
	if (to->count < NAMESERVERS_MAX)
		memcpy(&to->servers[to->count++], &server, sizeof(server));
	return 0;
}

int nameservers_list(struct nameservers *to, const char *text)
{
	const char *end = text + strlen(text);
	struct word word;

	memset(to, 0, sizeof(*to));
	while (next_word(&text, end, ", \t", &word) > 0)
		if (add_server(to, word.text) < 0)
			return -1;
	return to->count > 0 ? 0 : -1;
}

static void add_suffix(struct nameservers *to, const char *text)
{
	struct endpoint endpoint;

	if (to->suffix_count == SUFFIXES_MAX || endpoint_parse(&endpoint, text, 0) < 0 ||
	    endpoint.type != ENDPOINT_NAME)
		return;
	if (endpoint.host[endpoint.len - 1] == '.')
		endpoint.host[endpoint.len - 1] = '\0';
	memcpy(to->suffixes[to->suffix_count++], endpoint.host, endpoint.len + 1U);
}

static void read_line(struct nameservers *to, const char *at, const char *end)
{
	static const char blanks[] = " \t\r\f\v";
	struct word key, value;

	next_word(&at, end, blanks, &key);
	if (strcmp(key.text, "nameserver") == 0) {
		if (next_word(&at, end, blanks, &value) > 0)
			add_server(to, value.text);
	} else if (strcmp(key.text, "search") == 0 || strcmp(key.text, "domain") == 0) {
		to->suffix_count = 0; /* the last such line counts */
		while (next_word(&at, end, blanks, &value) > 0)
			add_suffix(to, value.text);
	}
}

void nameservers_resolv_conf(struct nameservers *to, const char *text, size_t n)
{
	const char *end = text + n;

	memset(to, 0, sizeof(*to));
	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		if (eol == NULL)
			eol = end;
		read_line(to, text, eol);
		text = eol + 1;
	}
}
