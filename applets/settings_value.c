/*
 * The settings that are more than a string or a number. Called through the table in settings.c
 * while flags and keys are read; owns nothing: lists are freed by value_free().
 */
#include "applets/settings_value.h"

#include "applets/features.h"
#include "applets/secret.h"
#include "applets/settings.h"
#include "core/workers.h"
#include "net/nameservers.h"
#include "net/socket_pace.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Of memory, in bytes. */
static const uint64_t SIZE_LEAST = 1 << 20, SIZE_LIMIT = (uint64_t)1 << 50;

static const char host_form[] = "must be host, host:port or [v6]:port, not '%.60s'";
static const char address_form[] = "must be an IP address, not '%.60s'";

/* A host with or without a port; "host:" is a host without one. */
static int parse_host(struct options *o, struct endpoint *endpoint, const char *text)
{
	size_t n = strlen(text);
	char plain[ENDPOINT_TEXT];

	if (n && n < sizeof plain && text[n - 1] == ':' &&
	    (strchr(text, ':') == text + n - 1 || text[0] == '[')) {
		memcpy(plain, text, n - 1);
		plain[n - 1] = 0;
		text = plain;
	}
	/* The port is 0 in spite of the default only if that is what the text says. */
	if (endpoint_parse(endpoint, text, 1) < 0 || !endpoint->port)
		return options_fail(o, host_form, text);
	return endpoint_parse(endpoint, text, 0);
}

/* localhost needs no resolver. */
int value_parse_listen(struct options *o, struct endpoint *endpoint, const char *text)
{
	if (parse_host(o, endpoint, text) < 0)
		return -1;
	if (endpoint->type == ENDPOINT_NAME && !strcasecmp(endpoint->host, "localhost"))
		endpoint_parse(endpoint, "127.0.0.1", endpoint->port);
	return 0;
}

int value_server(struct options *o, const struct option_value *value)
{
	struct settings_place *place = o->into;
	bool listens = o->program & (PROGRAM_SERVER | PROGRAM_MANAGER);
	struct endpoint endpoint;

	if (!value->text) {
		place->servers = 0;
		return 0;
	}
	if ((listens ? value_parse_listen : parse_host)(o, &endpoint, value->text) < 0)
		return -1;
	if (place->linked)
		place->servers = 0;
	place->linked = false;
	if (place->servers == SETTINGS_SERVERS) {
		options_warn(o, "takes %d at most, '%.60s' is ignored", SETTINGS_SERVERS,
			     value->text);
		return 0;
	}
	place->server[place->servers++] = endpoint;
	return 0;
}

static struct settings_spot spot_of(const struct option_value *value)
{
	const struct json *j = value->json;

	return j ? (struct settings_spot){ j->line, j->column } : (struct settings_spot){ 0, 0 };
}

/* Whether a secret is good only its method tells: here is kept where it stands. */
int value_password(struct options *o, const struct option_value *value)
{
	((struct settings_place *)o->into)->password_at = spot_of(value);
	return 0;
}

/* A relative path begins where the configuration file lies: also when it is read again by a daemon,
 * which is elsewhere. */
int value_password_file(struct options *o, const struct option_value *value)
{
	const char *text = options_text(o, value, "a string"), *slash;
	const char *file = o->whole ? o->whole->file : o->file;
	struct settings_place *place = o->into;
	char path[PATH_MAX];
	int n;

	if (!text || !*text)
		return text ? 0 : -1;
	slash = *text == '/' || !file ? NULL : strrchr(file, '/');
	n = snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - file) : 0,
		     slash ? file : "", text);
	if (n < 0 || n >= (int)sizeof path)
		return options_fail(o, "is too long");
	place->password_at = spot_of(value);
	if (secret_read_file(path, &place->password) == 0)
		return 0;
	return options_fail(o, "cannot be used: %.200s: %s", path,
			    errno == ENOMSG ? "there is no password in its first line"
					    : strerror(errno));
}

int value_key(struct options *o, const struct option_value *value)
{
	((struct settings_place *)o->into)->key_at = spot_of(value);
	return 0;
}

int value_listen(struct options *o, const struct option_value *value)
{
	struct settings *s = o->into;

	if (!value->text || !*value->text) {
		s->local.type = ENDPOINT_NONE;
		return 0;
	}
	return value_parse_listen(o, &s->local, value->text);
}

/* An address without a port, of the family asked for (0: of any). */
static int parse_address(struct options *o, struct address *v4, struct address *v6,
			 const char *text)
{
	struct endpoint e;
	struct address *to;

	if (endpoint_parse(&e, text, 0) < 0 || e.port || e.type == ENDPOINT_NAME)
		return options_fail(o, address_form, text);
	to = e.type == ENDPOINT_IPV4 ? v4 : v6;
	if (!to)
		return options_fail(o, "must be an IPv%d address, not '%.60s'", v4 ? 4 : 6, text);
	*to = (struct address){ .family = e.type == ENDPOINT_IPV4 ? 4 : 6 };
	memcpy(to->ip, e.host, e.len);
	return 0;
}

int value_source(struct options *o, const struct option_value *value)
{
	struct settings *s = o->into;

	if (!value->text) {
		s->socket.source4.family = s->socket.source6.family = 0;
		return 0;
	}
	return *value->text ? parse_address(o, &s->socket.source4, &s->socket.source6, value->text)
			    : 0;
}

static int source_of_family(struct options *o, const struct option_value *value, struct address *v4,
			    struct address *v6)
{
	const char *text = options_text(o, value, "a string");

	if (!text)
		return -1;
	return *text ? parse_address(o, v4, v6, text) : 0;
}

int value_source4(struct options *o, const struct option_value *value)
{
	return source_of_family(o, value, &((struct settings *)o->into)->raw.source4, NULL);
}

int value_source6(struct options *o, const struct option_value *value)
{
	return source_of_family(o, value, NULL, &((struct settings *)o->into)->raw.source6);
}

/* Only looked at here: the string is kept as it is, for resolve_open(). */
int value_nameserver(struct options *o, const struct option_value *value)
{
	const char *text = options_text(o, value, "a string");
	struct nameservers list;

	if (!text)
		return -1;
	if (nameservers_list(&list, text) < 0)
		return options_fail(o, "must be a list of ip[:port],... not '%.60s'", text);
	return 0;
}

int value_congestion(struct options *o, const struct option_value *value)
{
	const char *text = options_text(o, value, "a string");
	int error;

	if (!text)
		return -1;
	/* what only others may choose is no fault of the file's: a start warns of that */
	error = socket_pace_try(text);
	if (error != 0 && error != EPERM)
		return options_fail(o, "must be 'system' or what this kernel has, not '%.60s'",
				    text);
	return 0;
}

int value_method(struct options *o, const struct option_value *value)
{
	struct settings_place *place = o->into;
	const char *text = options_text(o, value, "a string");

	if (!text)
		return -1;
	if (!*text)
		return 0;
	place->method = wire_find(text);
	if (place->method && !wire_built(place->method))
		return options_fail(o, "is %s, which is not in this build%s", place->method->name,
				    features_no_cipher());
	if (place->method)
		return 0;
	return options_fail(o,
			    "has an invalid cipher name: %.40s (failed to initialize ciphers; "
			    "there are 2022-blake3-aes-256-gcm, aes-256-gcm and more: shadowsocks "
			    "--version lists them)",
			    text);
}

/* A character up to U+00FF, which stands for the byte of its number; the bytes of text it takes, 0:
 * another. */
static size_t latin1(const unsigned char *text, size_t n, unsigned char *byte)
{
	if (n && text[0] < 0x80) {
		*byte = text[0];
		return 1;
	}
	if (n > 1 && (text[0] == 0xc2 || text[0] == 0xc3)) {
		*byte = (unsigned char)(text[0] << 6 | (text[1] & 0x3f));
		return 2;
	}
	return 0;
}

int value_prefix(struct options *o, const struct option_value *value)
{
	const struct json *j = value->json;
	struct settings *s = o->into;

	if (j->type != JSON_STRING)
		return options_fail(o, "must be a string, not %s", json_type_name(j));
	s->prefix_len = 0;
	for (size_t at = 0, used; at < j->len; at += used) {
		unsigned char byte;

		used = latin1((const unsigned char *)j->text + at, j->len - at, &byte);
		if (!used)
			return options_fail(o, "must have bytes, \\u0000 to \\u00ff, and no other "
					       "characters");
		if (s->prefix_len == WIRE_PREFIX_MAX)
			return options_fail(o, "must have %d bytes at most", WIRE_PREFIX_MAX);
		s->prefix[s->prefix_len++] = byte;
	}
	return 0;
}

/* Digits at *text up to WIRE_PADDING_MAX; *text is then behind them. 0, or -1. */
static int parse_padding(const char **text, uint16_t *padding)
{
	unsigned n = 0;
	const char *p = *text;

	while (*p >= '0' && *p <= '9' && n <= WIRE_PADDING_MAX)
		n = n * 10 + (unsigned)(*p++ - '0');
	if (p == *text || n > WIRE_PADDING_MAX)
		return -1;
	*padding = (uint16_t)n;
	*text = p;
	return 0;
}

int value_padding(struct options *o, const struct option_value *value)
{
	const char *text = options_text(o, value, "a string or an integer"), *p = text;
	struct settings *s = o->into;
	bool good;

	if (!text)
		return -1;
	good = parse_padding(&p, &s->padding_min) == 0;
	s->padding_max = s->padding_min;
	if (good && *p == '-') {
		p++;
		good = parse_padding(&p, &s->padding_max) == 0;
	}
	if (!good || *p || s->padding_max < s->padding_min)
		return options_fail(o, "must be MIN-MAX or one number, from 0 to %d, not '%.60s'",
				    WIRE_PADDING_MAX, text);
	s->padded = true;
	return 0;
}

/* RFC 2474, 2597, 3246: EF, CS0 to CS7, AF11 to AF43, or a number. */
static int dscp_of(const char *text)
{
	char *end;
	unsigned long n;

	if (!strcasecmp(text, "EF"))
		return 46;
	if (!strncasecmp(text, "CS", 2) && text[2] >= '0' && text[2] <= '7' && !text[3])
		return (text[2] - '0') << 3;
	if (!strncasecmp(text, "AF", 2) && text[2] >= '1' && text[2] <= '4' && text[3] >= '1' &&
	    text[3] <= '3' && !text[4])
		return (text[2] - '0') << 3 | (text[3] - '0') << 1;
	if (*text < '0' || *text > '9')
		return -1;
	n = strtoul(text, &end, text[1] == 'x' ? 16 : 10);
	return *end || n > 63 ? -1 : (int)n;
}

static int parse_dscp(struct options *o, const struct option_value *value)
{
	const char *text = options_text(o, value, "a string");
	int dscp = text ? dscp_of(text) : -1;

	if (text && dscp < 0)
		return options_fail(
			o,
			"must be EF, CS0 to CS7, AF11 to AF43 or a number up to 0x3f, not '%.60s'",
			text);
	return dscp;
}

int value_workers(struct options *o, const struct option_value *value)
{
	const char *text = options_text(o, value, "a number or \"auto\"");
	struct settings *s = o->into;
	unsigned long n;
	char *end;

	if (!text)
		return -1;
	n = strtoul(text, &end, 10);
	if (strcmp(text, "auto") == 0)
		n = processors_allowed();
	else if (*text < '0' || *text > '9' || *end || n < 1 || n > WORKERS_MAX)
		return options_fail(o, "must be \"auto\" or a number from 1 to %d, not '%.60s'",
				    WORKERS_MAX, text);
	s->workers = n < WORKERS_MAX ? (unsigned)n : WORKERS_MAX;
	return 0;
}

/* Digits, and K, M or G: bytes. False: it is no size, or none that any machine has. */
static bool parse_size(const char *text, uint64_t *size)
{
	static const char units[] = "KMG";
	const char *unit;
	uint64_t n = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9' && n <= SIZE_LIMIT; text++)
		n = n * 10 + (uint64_t)(*text - '0');
	unit = *text ? strchr(units, *text & ~0x20) : NULL;
	if (unit) {
		if (n > SIZE_LIMIT)
			return false;
		n <<= 10 * (unit - units + 1);
		text++;
	}
	*size = n;
	return !*text && n <= SIZE_LIMIT;
}

int value_memory_limit(struct options *o, const struct option_value *value)
{
	const char *text = options_text(o, value, "a number or a string");
	struct settings *s = o->into;
	uint64_t size;

	if (!text)
		return -1;
	if (!parse_size(text, &size) || (size && size < SIZE_LEAST))
		return options_fail(o,
				    "must be 0 or a size from 1M up, such as 8M or 1G, not '%.60s'",
				    text);
	s->memory_limit = size;
	return 0;
}

/* {"443": "EF"}: of traffic to these ports. */
static int dscp_rules(struct options *o, const struct json *rules)
{
	struct settings *s = o->into;

	s->dscp_rules = 0;
	for (const struct json *j = rules->first; j; j = j->next) {
		struct settings_dscp *rule = &s->dscp[s->dscp_rules];
		int dscp;

		options_at(o, j);
		if (s->dscp_rules == SETTINGS_DSCP_RULES)
			return options_fail(o, "takes %d ports at most", SETTINGS_DSCP_RULES);
		if (options_port(j->name, &rule->port) < 0)
			return options_fail(o,
					    "must have ports from 1 to 65535 as names, not '%.60s'",
					    j->name);
		dscp = parse_dscp(o, &(struct option_value){ .json = j });
		if (dscp < 0)
			return -1;
		rule->dscp = (uint8_t)dscp;
		s->dscp_rules++;
	}
	return 0;
}

int value_dscp(struct options *o, const struct option_value *value)
{
	struct settings *s = o->into;
	int dscp;

	if (value->json && value->json->type == JSON_OBJECT) {
		if (s->program == PROGRAM_REDIR)
			return dscp_rules(o, value->json);
		options_warn(o, "as an object is for %s, ignored",
			     settings_program_name(PROGRAM_REDIR));
		return 0;
	}
	dscp = parse_dscp(o, value);
	if (dscp < 0)
		return -1;
	s->socket.dscp = dscp;
	return 0;
}
