/*
 * The grammar of an access control list: that of shadowsocks-libev, and what shadowsocks-rust has
 * besides. A line is a section, a rule or nothing; '#' begins a comment anywhere. A rule is a
 * network, a name (||suffix, |exact, suffix:, full:) or a pattern.
 */
#include "net/acl_rules.h"

#include "core/file.h"
#include "core/log.h"
#include "core/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 16 << 20 /* bytes */ };

struct reader {
	struct acl *acl;
	struct acl_pattern *pattern;
	const char *path;
	char *reason;
	void (*tell)(const char *sentence);
	unsigned line, list;
};

struct slice {
	const char *at;
	size_t n;
};

static bool skip(struct slice *text, const char *word)
{
	size_t n = strlen(word);

	if (text->n < n || memcmp(text->at, word, n) != 0)
		return false;
	text->at += n;
	text->n -= n;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct slice trim(struct slice text)
{
	while (text.n > 0 && is_blank(text.at[text.n - 1]))
		text.n--;
	while (text.n > 0 && is_blank(*text.at)) {
		text.at++;
		text.n--;
	}
	return text;
}

static int fail(const struct reader *r, const char *what, const char *why)
{
	snprintf(r->reason, ACL_REASON_MAX, "%.250s:%u: %s%s", r->path, r->line, what, why);
	return -1;
}

/* A rule that cannot be used: an open block list would be worse than none. */
static int leave_out(const struct reader *r, const char *why)
{
	fail(r, "cannot use this rule: ", why);
	if (r->list == ACL_BLOCK)
		return -1;
	r->tell(r->reason);
	r->acl->inactive++;
	return 0;
}

/* --- networks */

static void mask(struct address *address, unsigned bits)
{
	for (unsigned i = 0; i < sizeof(address->ip); i++, bits -= bits < 8 ? bits : 8)
		if (bits < 8)
			address->ip[i] &= (uint8_t)(0xff00 >> bits);
}

/* The number behind the slash, 0 to max; or -1. */
static int read_bits(struct slice text, int max)
{
	int bits = 0;

	if (text.n == 0 || text.n > 3)
		return -1;
	for (; text.n > 0; text.at++, text.n--) {
		if (*text.at < '0' || *text.at > '9')
			return -1;
		bits = bits * 10 + *text.at - '0';
	}
	return bits <= max ? bits : -1;
}

/* 1: it was a network, 0: it is something else, -1: a wrong one. */
static int add_network(struct reader *r, struct slice text)
{
	const char *slash = memchr(text.at, '/', text.n);
	struct slice host = { text.at, slash ? (size_t)(slash - text.at) : text.n };
	struct acl_net *net = &r->acl->nets[r->acl->net_count];
	int bits, mapped;

	*net = (struct acl_net){ .line = r->line, .list = (uint8_t)r->list };
	if (!address_read(&net->base, host.at, host.n))
		return 0;
	/* IPv4 in the spelling of IPv6 counts its bits from there */
	mapped = net->base.family == 4 && memchr(host.at, ':', host.n) ? 96 : 0;
	bits = net->base.family == 4 ? 32 : 128;
	if (slash) {
		struct slice rest = { slash + 1, text.n - host.n - 1 };
		bits = read_bits(rest, bits + mapped) - mapped;
	}
	if (bits < 0)
		return leave_out(r, "the number behind the / is wrong") < 0 ? -1 : 1;
	net->bits = (uint8_t)bits;
	mask(&net->base, net->bits);
	r->acl->net_count++;
	return 1;
}

/* --- names and patterns */

static struct acl_rule *add_rule(struct reader *r, const char *literal, size_t n)
{
	struct acl *acl = r->acl;
	struct acl_rule *rule = &acl->rules[acl->rule_count++];

	*rule = (struct acl_rule){ .line = r->line,
				   .list = r->list & 15,
				   .literal = acl->literal_size,
				   .n = (uint8_t)n,
				   .program = ACL_NONE };
	for (size_t i = 0; i < n; i++)
		acl->literals[acl->literal_size++] = text_lower(literal[i]);
	return rule;
}

static bool is_name(struct slice text)
{
	char before = '.';

	for (size_t i = 0; i < text.n; i++) {
		char c = text.at[i];
		if ((c == '.' && before == '.') ||
		    (c != '.' && c != '-' && c != '_' && (c < '0' || c > '9') &&
		     ((c | 0x20) < 'a' || (c | 0x20) > 'z') && (unsigned char)c < 0x80))
			return false;
		before = c;
	}
	return text.n > 0 && text.n <= ENDPOINT_NAME_MAX;
}

static int add_name(struct reader *r, struct slice text, enum acl_begin begin)
{
	struct acl_rule *rule;
	int network = add_network(r, text);

	if (network != 0)
		return network;
	if (text.n > 1 && text.at[text.n - 1] == '.')
		text.n--;
	if (!is_name(text))
		return leave_out(r, "this is no host name");
	rule = add_rule(r, text.at, text.n);
	rule->begin = (unsigned)begin & 3;
	rule->end = true;
	return 0;
}

/* Append the program of r->pattern to that of all. 0, or -1: no memory. */
static int add_program(struct reader *r, struct acl_rule *rule)
{
	struct acl *acl = r->acl;
	size_t size = r->pattern->size;
	struct acl_code *code = realloc(acl->code, (acl->code_size + size) * sizeof(*code));

	if (code == NULL)
		return fail(r, "there is no memory for more rules", "");
	acl->code = code;
	memcpy(code + acl->code_size, r->pattern->code, size * sizeof(*code));
	rule->program = acl->code_size;
	rule->size = (uint16_t)size;
	acl->code_size += (uint32_t)size;
	acl->patterns++;
	return 0;
}

static int add_pattern(struct reader *r, struct slice text)
{
	struct acl_pattern *pattern = r->pattern;
	struct acl_rule *rule;

	if (acl_pattern_read(pattern, text.at, text.n) < 0)
		return leave_out(r, pattern->why);
	/* Published lists have some, by mistake; among what must not be reached nothing may be in
	 * vain. */
	if (pattern->foreign && r->list == ACL_BLOCK)
		return leave_out(r, "it is no network, and has a character that is in no name");
	rule = add_rule(r, pattern->literal, pattern->n);
	rule->begin = pattern->begin & 3;
	rule->end = pattern->end;
	return pattern->plain ? 0 : add_program(r, rule);
}

/* Made of what networks in numbers are made of, and meant for one: "10.0.0.0-10.0.0.9",
 * "010.0.0.1". As a pattern it would match what nobody thought of. */
static bool is_like_address(struct slice text)
{
	size_t digits = 0, dots = 0;

	for (size_t i = 0; i < text.n; i++) {
		digits += text.at[i] >= '0' && text.at[i] <= '9';
		dots += text.at[i] == '.';
		if (!strchr("0123456789.*-/ ", text.at[i]))
			return false;
	}
	return digits > 0 && dots > 0;
}

static int add(struct reader *r, struct slice text)
{
	int network;

	if (skip(&text, "||") || skip(&text, "suffix:"))
		return add_name(r, text, ACL_LABEL);
	if (skip(&text, "|") || skip(&text, "full:"))
		return add_name(r, text, ACL_BEGIN);
	network = add_network(r, text);
	if (network != 0)
		return network;
	return is_like_address(text) ? leave_out(r, "this is no network") : add_pattern(r, text);
}

/* --- lines */

/* 1: it was a section, 0: it is none, -1: one that is not known. */
static int read_section(struct reader *r, struct slice text)
{
	enum { BLACK_MODE = ACL_LISTS, WHITE_MODE, PASS_ALL, BLOCK_ALL };
	static const struct {
		const char *name;
		uint8_t means;
	} sections[] = {
		{ "[proxy_all]", BLACK_MODE },		{ "[accept_all]", BLACK_MODE },
		{ "[bypass_all]", WHITE_MODE },		{ "[reject_all]", WHITE_MODE },
		{ "[bypass_list]", ACL_BLACK },		{ "[black_list]", ACL_BLACK },
		{ "[proxy_list]", ACL_WHITE },		{ "[white_list]", ACL_WHITE },
		{ "[outbound_block_list]", ACL_BLOCK }, { "[outbound_allow_list]", ACL_PASS },
		{ "[outbound_block_all]", BLOCK_ALL },	{ "[outbound_allow_all]", PASS_ALL },
	};

	for (unsigned i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		unsigned means = sections[i].means;
		if (!skip(&text, sections[i].name))
			continue;
		if (text.n > 0)
			return fail(r, "there is something behind the name of a section", "");
		if (means < ACL_LISTS)
			r->list = means;
		else if (means <= WHITE_MODE)
			r->acl->white_mode = means == WHITE_MODE;
		else
			r->acl->block_all = means == BLOCK_ALL;
		return 1;
	}
	/* A set of characters may look like that, but nobody has one for a rule: it would match
	 * nearly every name. */
	if (text.n < 3 || text.at[0] != '[' || memchr(text.at, ']', text.n) != text.at + text.n - 1)
		return 0;
	return fail(r, "there is no section of this name", "");
}

static int read_line(struct reader *r, struct slice text)
{
	const char *comment = memchr(text.at, '#', text.n);
	int section;

	if (memchr(text.at, '\0', text.n))
		return fail(r, "this is no text", "");
	if (comment)
		text.n = (size_t)(comment - text.at);
	text = trim(text);
	if (text.n == 0)
		return 0;
	if (memchr(text.at, '\r', text.n))
		return fail(r, "this line holds lines that end in CR alone", "");
	section = read_section(r, text);
	return section != 0 ? section : add(r, text);
}

static int read_lines(struct reader *r, struct slice text)
{
	skip(&text, "\xef\xbb\xbf");
	while (text.n > 0) {
		const char *newline = memchr(text.at, '\n', text.n);
		struct slice line = { text.at, newline ? (size_t)(newline - text.at) : text.n };

		r->line++;
		if (read_line(r, line) < 0)
			return -1;
		text.at += line.n;
		text.n -= line.n;
		skip(&text, "\n");
	}
	return 0;
}

/* Room for as many rules as there are lines. */
static int make_room(struct acl *acl, const char *text, size_t n)
{
	size_t lines = 2;

	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	acl->rules = calloc(lines, sizeof(*acl->rules));
	acl->nets = calloc(lines, sizeof(*acl->nets));
	acl->literals = malloc(n + 1);
	acl->scratch = calloc(1, sizeof(*acl->scratch));
	return acl->rules && acl->nets && acl->literals && acl->scratch ? 0 : -1;
}

/* What comes when all rules are there. */
static int finish(struct acl *acl)
{
	size_t largest = 1;

	for (uint32_t i = 0; i < acl->rule_count; i++)
		if (acl->rules[i].size > largest)
			largest = acl->rules[i].size;
	acl->scratch->room = calloc(largest * 4, sizeof(*acl->scratch->room));
	acl_nets_sort(acl);
	return acl->scratch->room == NULL ? -1 : acl_names_index(acl);
}

static struct acl *read_text(const char *path, struct slice text,
			     void (*tell)(const char *sentence), char reason[ACL_REASON_MAX])
{
	struct acl *acl = calloc(1, sizeof(*acl));
	struct reader r = { acl, malloc(sizeof(*r.pattern)), path, reason, tell, 0, ACL_BLACK };

	snprintf(reason, ACL_REASON_MAX, "%.250s: there is no memory for it", path);
	if (acl == NULL || r.pattern == NULL || make_room(acl, text.at, text.n) < 0 ||
	    read_lines(&r, text) < 0 || finish(acl) < 0) {
		acl_close(acl);
		acl = NULL;
	}
	if (acl)
		acl->no_bytes = text.n == 0;
	free(r.pattern);
	return acl;
}

static void warn(const char *sentence)
{
	log_warn("acl: %s; it is left out", sentence);
}

struct acl *acl_read(const char *path, const char *text, size_t n, char reason[ACL_REASON_MAX])
{
	return read_text(path, (struct slice){ text, n }, warn, reason);
}

struct acl *acl_open_telling(const char *path, void (*tell)(const char *sentence),
			     char reason[ACL_REASON_MAX])
{
	struct acl *acl = NULL;
	char *text = malloc(FILE_MAX + 1);
	ssize_t n = text ? file_read(path, text, FILE_MAX + 1) : -1;

	if (n < 0)
		snprintf(reason, ACL_REASON_MAX, "cannot read %.250s: %s", path, strerror(errno));
	else if (n > FILE_MAX)
		snprintf(reason, ACL_REASON_MAX, "%.250s is too large", path);
	else
		acl = read_text(path, (struct slice){ text, (size_t)n }, tell, reason);
	free(text);
	return acl;
}

struct acl *acl_open(const char *path, char reason[ACL_REASON_MAX])
{
	return acl_open_telling(path, warn, reason);
}

void acl_close(struct acl *acl)
{
	if (acl == NULL)
		return;
	if (acl->scratch)
		free(acl->scratch->room);
	free(acl->scratch);
	free(acl->rules);
	free(acl->nets);
	free(acl->literals);
	free(acl->code);
	free(acl->heads);
	free(acl);
}
