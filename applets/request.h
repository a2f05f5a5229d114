/*
 * The language of ss-manager: one datagram is one request, "word" or "word: {json}", and answers
 * are datagrams of a few words or of a list. Read and written here, byte for byte as
 * shadowsocks-libev's clients expect; what is done about a request is in manager.c. No I/O.
 */
#ifndef APPLETS_REQUEST_H
#define APPLETS_REQUEST_H

#include "core/json.h"

#include <stddef.h>
#include <stdint.h>

enum {
	REQUEST_MAX = 65507, /* bytes of a request; and of one datagram of an answer */
	REQUEST_WORD = 16
};

enum request_kind {
	REQUEST_NONE, /* nothing that is to be answered */
	REQUEST_BAD,  /* a word that we know, and what comes with it is wrong: "err" */
	REQUEST_ADD,
	REQUEST_REMOVE,
	REQUEST_LIST,
	REQUEST_PING,
	REQUEST_STAT, /* a report of a server's */
	REQUEST_STATS,
	REQUEST_ADD_USER,
	REQUEST_REMOVE_USER
};

struct request {
	enum request_kind kind;
	struct json_document document; /* empty: the request has none */
};

/* Read bytes[0..n). Whatever it is, request_free() is called for it. */
void request_read(struct request *request, const char *bytes, size_t n);
void request_free(struct request *request);

/* The port that an object names in "server_port", a number or a string; 0: none, or no port. */
uint16_t request_port(const struct json *object);

/* The text of a member that is a string of 1 to 255 bytes; else NULL. */
const char *request_text(const struct json *object, const char *name);

/* The first report in the object of REQUEST_STAT: 0 with port and bytes, or -1. */
int request_report(const struct json *object, uint16_t *port, uint64_t *bytes);

/* A list that may take several datagrams, each of which is valid by itself. */
struct reply_form {
	const char *begin, *first, *next, *end;
	const char *end_more; /* in the place of `end`, if another datagram follows */
};

extern const struct reply_form reply_list, reply_ping, reply_stats;

struct reply {
	const struct reply_form *form;
	void (*send)(void *to, const char *bytes, size_t n); /* one datagram */
	void *to;
	unsigned items; /* in this datagram */
	size_t n;
	char bytes[REQUEST_MAX];
};

void reply_begin(struct reply *reply, const struct reply_form *form,
		 void (*send)(void *, const char *, size_t), void *to);

/* One item more; one that does not fit into a datagram is left out. */
void reply_add(struct reply *reply, const char *item, size_t n);
void reply_end(struct reply *reply);

#endif
