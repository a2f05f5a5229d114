/*
 * Access control lists the plain way, to compare with: each pattern through regcomp(), each network
 * by itself, all of them asked one after the other. Also names to ask for, most of which are in no
 * list but look as if they were. For tests/net/acl_lists.c and tests/bench/acl.c.
 */
#ifndef TESTS_NET_ACL_REFERENCE_H
#define TESTS_NET_ACL_REFERENCE_H

#include "net/acl.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFERENCE_RULES = 16384 };

struct reference_rule {
	unsigned line, list; /* 0 black, 1 white, 2 block */
	int family;	     /* 0: a pattern */
	unsigned char ip[16];
	unsigned bits;
	regex_t regex;
	char text[256];
};

struct reference {
	struct reference_rule *rules;
	unsigned count;
	bool white_mode;
};

/* To POSIX's syntax: \d, \w, \s, (?:, and backslashes in sets, where POSIX has none. */
static inline void reference_translate(const char *from, char *to)
{
	bool set = false;

	for (; *from; from++) {
		if (strncmp(from, "(?:", 3) == 0 && !set) {
			*to++ = '(';
			from += 2;
			continue;
		}
		if (*from == '\\' && strchr("dws", from[1])) {
			const char *class = from[1] == 'd'   ? "0-9"
					    : from[1] == 'w' ? "a-zA-Z0-9_"
							     : " \t\r\n\v\f";
			to += sprintf(to, set ? "%s" : "[%s]", class);
			from++;
			continue;
		}
		if (*from == '\\' && set)
			from++;
		else if (*from == '\\')
			*to++ = *from++;
		else if (*from == '[')
			set = true;
		else if (*from == ']')
			set = false;
		*to++ = *from;
	}
	*to = '\0';
}

static inline bool reference_network(struct reference_rule *rule, const char *text)
{
	char host[64];
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);

	if (n >= sizeof(host))
		return false;
	memcpy(host, text, n);
	host[n] = '\0';
	rule->family = inet_pton(AF_INET, host, rule->ip) == 1	  ? 4
		       : inet_pton(AF_INET6, host, rule->ip) == 1 ? 6
								  : 0;
	rule->bits = slash ? (unsigned)atoi(slash + 1) : rule->family == 4 ? 32 : 128;
	if (rule->family == 6 && rule->bits >= 96 &&
	    memcmp(rule->ip, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) == 0) {
		memmove(rule->ip, rule->ip + 12, 4);
		rule->family = 4;
		rule->bits -= 96;
	}
	return rule->family != 0;
}

/* What a section's name means, or -1: a rule. */
static inline int reference_section(const char *text)
{
	static const char *const names[] = { "[bypass_list]",	      "[proxy_list]",
					     "[outbound_block_list]", "[proxy_all]",
					     "[bypass_all]",	      "[black_list]",
					     "[white_list]",	      "[]",
					     "[accept_all]",	      "[reject_all]" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0)
			return (int)(i % 5);
	return -1;
}

/* False: a pattern that regcomp() does not take. */
static inline bool reference_line(struct reference *r, char *text, unsigned line, unsigned *list)
{
	struct reference_rule *rule = &r->rules[r->count];
	char posix[2048];
	int section;

	text[strcspn(text, "#\r\n")] = '\0';
	while (*text && isspace((unsigned char)text[strlen(text) - 1]))
		text[strlen(text) - 1] = '\0';
	section = reference_section(text);
	if (section >= 3)
		r->white_mode = section == 4;
	else if (section >= 0)
		*list = (unsigned)section;
	if (section >= 0 || *text == '\0')
		return true;
	*rule = (struct reference_rule){ .line = line, .list = *list };
	snprintf(rule->text, sizeof(rule->text), "%s", text);
	r->count++;
	if (reference_network(rule, text))
		return true;
	reference_translate(text, posix);
	return regcomp(&rule->regex, posix, REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0;
}

/* 0, or the line that cannot be read; -1: no such file. */
static inline int reference_open(struct reference *r, const char *path)
{
	FILE *file = fopen(path, "r");
	char text[1024];
	unsigned line = 0, list = 0;
	int wrong = 0;

	*r = (struct reference){ .rules = calloc(REFERENCE_RULES, sizeof(*r->rules)) };
	if (file == NULL)
		return -1;
	while (!wrong && r->count < REFERENCE_RULES && fgets(text, sizeof(text), file))
		if (!reference_line(r, text, ++line, &list))
			wrong = (int)line;
	fclose(file);
	return wrong;
}

static inline void reference_close(struct reference *r)
{
	for (unsigned i = 0; i < r->count; i++)
		if (r->rules[i].family == 0)
			regfree(&r->rules[i].regex);
	free(r->rules);
}

/* The first rule of a list that the name matches: its line, or 0. */
static inline unsigned reference_name(const struct reference *r, unsigned list, const char *name)
{
	for (unsigned i = 0; i < r->count; i++)
		if (r->rules[i].family == 0 && r->rules[i].list == list &&
		    regexec(&r->rules[i].regex, name, 0, NULL, 0) == 0)
			return r->rules[i].line;
	return 0;
}

/* Whether a network of the list holds the address. */
static inline bool reference_address(const struct reference *r, unsigned list,
				     const struct address *address)
{
	for (unsigned i = 0; i < r->count; i++) {
		const struct reference_rule *rule = &r->rules[i];
		unsigned k = 0;

		if (rule->family != address->family || rule->list != list)
			continue;
		while (k < rule->bits &&
		       !((rule->ip[k / 8] ^ address->ip[k / 8]) >> (7 - k % 8) & 1))
			k++;
		if (k == rule->bits)
			return true;
	}
	return false;
}

static inline uint32_t reference_random(void)
{
	static uint64_t state = 42;

	state = state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(state >> 33);
}

/* A name: of labels as they come, or what a rule would match, or nearly. */
static inline void reference_make_name(const struct reference *r, char *to)
{
	static const char *const first[] = { "", "www.", "a.b.", "x", "ad-1.", "0" };
	static const char *const last[] = { "", ".com", ".cn", "x", ".net", ".co.uk" };
	char middle[64];
	unsigned n = 0;

	if (r->count > 0 && reference_random() % 4 == 0) {
		const char *text = r->rules[reference_random() % r->count].text;
		for (; *text && n < 40; text++)
			if (isalnum((unsigned char)*text) || strchr(".-_", *text))
				middle[n++] = *text;
		if (n > 1 && reference_random() % 2)
			middle[reference_random() % n] = (char)('a' + reference_random() % 26);
	} else {
		for (n = 0; n < 4 + reference_random() % 20; n++)
			middle[n] =
				"etaoinshrdlucmfwypvbgkjqxz-0123456789."[reference_random() % 38];
	}
	middle[n] = '\0';
	snprintf(to, 256, "%s%s%s", first[reference_random() % 6], middle,
		 last[reference_random() % 6]);
	if (*to == '\0' || *to == '.')
		*to = 'a';
	n = (unsigned)strlen(to);
	while (n > 1 && to[n - 1] == '.')
		to[--n] = '\0';
}

/* An address in or next to a network of the list, or any. */
static inline void reference_make_address(const struct reference *r, struct address *to)
{
	const struct reference_rule *rule =
		r->count ? &r->rules[reference_random() % r->count] : NULL;

	*to = (struct address){ .family = reference_random() % 4 ? 4 : 6 };
	for (unsigned i = 0; i < (to->family == 4 ? 4 : 16); i++)
		to->ip[i] = (uint8_t)reference_random();
	if (rule == NULL || rule->family == 0 || reference_random() % 4 == 0)
		return;
	to->family = (uint8_t)rule->family;
	memset(to->ip, 0, sizeof(to->ip));
	memcpy(to->ip, rule->ip, rule->family == 4 ? 4 : 16);
	for (unsigned k = rule->bits; k < (rule->family == 4 ? 32 : 128); k++)
		to->ip[k / 8] |= (uint8_t)((reference_random() & 1) << (7 - k % 8));
	if (rule->bits > 0 && reference_random() % 2)
		to->ip[(rule->bits - 1) / 8] ^= (uint8_t)(1 << (7 - (rule->bits - 1) % 8));
}

/* The directory of the published lists; NULL: not here. */
static inline const char *reference_lists(char *path, size_t n)
{
	const char *shared = getenv("SS_SHARED");
	FILE *file;

	snprintf(path, n, "%s/data/acl/libev-chn.acl", shared ? shared : "../shared");
	file = fopen(path, "r");
	if (file == NULL)
		return NULL;
	fclose(file);
	*strrchr(path, '/') = '\0';
	return path;
}

#endif
