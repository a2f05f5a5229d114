/*
 * ss:// links, between an applet that reads or prints them and a struct url.
 *
 *	ss://BASE64(method:password)@host:port/?plugin=NAME%3BOPTIONS#TAG	SIP002
 *	ss://method:PERCENT(password)@host:port...				the same, for 2022
 *	ss://BASE64(method:password@host:port)#TAG				older
 *
 * Whoever wrote a link may have used either alphabet of base64, padded it or not, and left out the
 * slash: all of that is read. Owns nothing; text is decoded in url->bytes, where it only shrinks.
 */
#include "net/url.h"

#include "core/text.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* --- reading */

/* Undo percent signs, in place. False if they are malformed, or mean a NUL. */
static bool unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		int high, low;

		if (*p != '%') {
			*to++ = *p;
			continue;
		}
		high = text_hex(p[1]);
		low = high < 0 ? -1 : text_hex(p[2]);
		if (low < 0 || high + low == 0)
			return false;
		*to++ = (char)(high << 4 | low);
		p += 2;
	}
	*to = 0;
	return true;
}

/* The same of base64, of either alphabet, padded or not. */
static bool unbase64(char *text)
{
	size_t n = strlen(text), used;
	char bytes[URL_MAX];
	bool good;

	while (n && text[n - 1] == '=')
		n--;
	for (size_t i = 0; i < n; i++)
		text[i] = text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i];
	good = sodium_base642bin((unsigned char *)bytes, sizeof(bytes), text, n, NULL, &used, NULL,
				 sodium_base64_VARIANT_ORIGINAL_NO_PADDING) == 0 &&
	       !memchr(bytes, 0, used);
	if (good) {
		memcpy(text, bytes, used);
		text[used] = 0;
	}
	sodium_memzero(bytes, sizeof(bytes));
	return good;
}

/* Cut off what is behind this character, and return it; NULL: it is not there. */
static char *cut(char *text, char c)
{
	char *at = strchr(text, c);

	if (at)
		*at++ = 0;
	return at;
}

/* "NAME;OPTIONS" of the parameter `plugin`; others are for other programs. */
static const char *read_query(struct url *url, char *query)
{
	for (char *next; query; query = next) {
		next = cut(query, '&');
		if (strncmp(query, "plugin=", 7) != 0)
			continue;
		query += 7;
		if (!unescape(query))
			return "its plugin has a malformed percent sign";
		url->plugin_opts = cut(query, ';');
		url->plugin = *query ? query : NULL;
		if (!url->plugin || !url->plugin_opts || !*url->plugin_opts)
			url->plugin_opts = NULL;
	}
	return NULL;
}

static const char *read_host(struct url *url, char *host)
{
	size_t n = strlen(host);

	if (n && host[n - 1] == '/')
		host[n - 1] = 0;
	if (!unescape(host))
		return "its host has a malformed percent sign";
	if (endpoint_parse(&url->server, host, URL_PORT) < 0 || !url->server.port)
		return "behind its last '@' there must be host:port";
	return NULL;
}

/* "method:password", each escaped by itself: the first colon parts them. */
static const char *read_user(struct url *url, char *user, bool escaped)
{
	char *password = cut(user, ':');

	if (!password || !*user)
		return "there must be a method and a password, with a colon between them";
	if (escaped && (!unescape(user) || !unescape(password)))
		return "its password has a malformed percent sign";
	url->method = user;
	url->password = password;
	return NULL;
}

/* What is left of the query and the tag. */
static const char *read_server(struct url *url, char *text)
{
	char *at = strrchr(text, '@');
	bool escaped = at && memchr(text, ':', (size_t)(at - text));
	const char *why;

	if (!at) { /* as a whole */
		if (!unescape(text) || !unbase64(text))
			return "it has no '@', and is not base64 either";
		at = strrchr(text, '@');
		if (!at)
			return "it has no '@'";
		*at = 0;
	} else {
		*at = 0;
		if (!escaped && (!unescape(text) || !unbase64(text)))
			return "what is before its '@' is neither method:password nor base64";
	}
	why = read_host(url, at + 1);
	return why ? why : read_user(url, text, escaped);
}

const char *url_parse(struct url *url, const char *text)
{
	size_t n = strlen(text);
	const char *why;
	char *query, *tag;

	memset(url, 0, sizeof(*url));
	if (n > URL_MAX)
		return "it is too long";
	if (strncasecmp(text, "ss://", 5) != 0)
		return "it does not begin with ss://";
	memcpy(url->bytes, text + 5, n - 4);
	tag = cut(url->bytes, '#');
	query = cut(url->bytes, '?');
	if (tag && !unescape(tag))
		return "its tag has a malformed percent sign";
	url->tag = tag && *tag ? tag : NULL;
	why = read_query(url, query);
	return why ? why : read_server(url, url->bytes);
}

/* --- printing */

/* Text that grows in a buffer that may be too small. */
struct text {
	char *to;
	size_t size, n;
};

static void put(struct text *text, char c)
{
	if (text->n + 1 < text->size)
		text->to[text->n] = c;
	text->n++;
}

static void put_text(struct text *text, const char *p)
{
	while (*p)
		put(text, *p++);
}

/* All but what RFC 3986 calls unreserved, and what is in `kept`. */
static void put_escaped(struct text *text, const char *p, const char *kept)
{
	static const char digits[] = "0123456789ABCDEF", plain[] = "-._~";

	for (; *p; p++) {
		unsigned char c = (unsigned char)*p;
		bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';

		if (letter || (c >= '0' && c <= '9') || strchr(plain, c) || strchr(kept, c)) {
			put(text, *p);
			continue;
		}
		put(text, '%');
		put(text, digits[c >> 4]);
		put(text, digits[c & 15]);
	}
}

/* In base64 of URLs, without padding. */
static void put_base64(struct text *text, const char *method, const char *password)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *parts[] = { method, ":", password };
	unsigned bits = 0, held = 0;

	for (unsigned i = 0; i < 3; i++) {
		for (const char *p = parts[i]; *p; p++) {
			held = (held << 8 | (unsigned char)*p) & 0xfff;
			for (bits += 8; bits >= 6; bits -= 6)
				put(text, digits[held >> (bits - 6) & 63]);
		}
	}
	if (bits)
		put(text, digits[held << (6 - bits) & 63]);
}

static void put_host(struct text *text, const struct endpoint *server)
{
	char printed[ENDPOINT_TEXT];

	if (server->type == ENDPOINT_NAME) {
		put_escaped(text, server->host, "");
		snprintf(printed, sizeof(printed), ":%u", (unsigned)server->port);
	} else {
		endpoint_print(server, printed, sizeof(printed));
	}
	put_text(text, printed);
}

size_t url_print(const struct url *url, char *to, size_t size)
{
	struct text text = { to, size, 0 };

	put_text(&text, "ss://");
	if (strncmp(url->method, "2022-", 5) == 0) {
		put_escaped(&text, url->method, "");
		put(&text, ':');
		put_escaped(&text, url->password, ":");
	} else {
		put_base64(&text, url->method, url->password);
	}
	put(&text, '@');
	put_host(&text, &url->server);
	if (url->plugin) {
		put_text(&text, "/?plugin=");
		put_escaped(&text, url->plugin, "");
		put_text(&text, url->plugin_opts ? "%3B" : "");
		put_escaped(&text, url->plugin_opts ? url->plugin_opts : "", "");
	}
	if (url->tag) {
		put(&text, '#');
		put_escaped(&text, url->tag, "");
	}
	if (size)
		to[text.n < size ? text.n : size - 1] = 0;
	return text.n;
}
