/*
 * ss:// links (SIP002, and the older form that is base64 as a whole): what a client must know of a
 * server, in one line of text. No I/O.
 */
#ifndef NET_URL_H
#define NET_URL_H

#include "net/endpoint.h"

#include <stddef.h>

enum {
	URL_MAX = 4096,	  /* bytes of a link that is read */
	URL_PORT = 8388,  /* where a link has none */
	URL_PARTS = 5 * 2 /* strings in a struct url, and a NUL more than the link has for each */
};

/* Strings lie in `bytes`; those of what is printed may lie elsewhere. */
struct url {
	const char *method, *password;
	struct endpoint server;
	const char *plugin, *plugin_opts, *tag; /* NULL: none */
	char bytes[URL_MAX + URL_PARTS];
};

/* Read a link: NULL, or what is wrong with it, in words that tell nothing of it. It has a method, a
 * host and a port; whether they are good, its reader decides. Wiped by who has it. */
const char *url_parse(struct url *url, const char *text);

/* Write it to to[0..size), cut and terminated as snprintf() does; the length it has uncut. Methods
 * of 2022 are written with percent signs, others in base64. */
size_t url_print(const struct url *url, char *to, size_t size);

#endif
