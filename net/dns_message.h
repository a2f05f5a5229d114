/*
 * DNS messages (RFC 1035 4.1): the question for the addresses of a name, and what an answer says.
 * No I/O.
 */
#ifndef NET_DNS_MESSAGE_H
#define NET_DNS_MESSAGE_H

#include "net/endpoint.h"

enum { DNS_QUESTION_MAX = 12 + 255 + 4, DNS_ADDRESSES = 32 };

enum dns_type { DNS_A = 1, DNS_AAAA = 28 };

enum dns_outcome {
	DNS_FAILED,  /* malformed, or the server could not answer */
	DNS_NO_NAME, /* there is no such name */
	DNS_NO_DATA, /* the name has no such address */
	DNS_FOUND
};

struct dns_reply {
	uint8_t outcome; /* enum dns_outcome */
	uint8_t count;
	uint32_t ttl; /* seconds; of a negative reply 0 if the server does not say */
	struct address addresses[DNS_ADDRESSES]; /* the first ones of the answer */
};

/* Ask for addresses of `name`: the bytes written to `to`, which has DNS_QUESTION_MAX bytes; 0 if
 * the name has an empty or an overlong label, or is too long. */
size_t dns_write_question(unsigned char *to, uint16_t id, const char *name, enum dns_type type);

/* What the n bytes of an answer say. That it answers our question is for the caller to know. */
void dns_read_reply(struct dns_reply *reply, const unsigned char *bytes, size_t n,
		    enum dns_type type);

#endif
