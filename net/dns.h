/*
 * The addresses of a name from its DNS servers: A and AAAA asked at the same time, again when no
 * answer comes, over TCP when one is cut. c-ares does that; here it is put on the reactor, given
 * memory of its own, and told which servers to ask, also when resolv.conf changes meanwhile.
 */
#ifndef NET_DNS_H
#define NET_DNS_H

#include "net/dns_message.h"
#include "net/resolve.h"

enum {
	DNS_OUT_MAX = 256,
	DNS_SHARES = 256 /* who asks is told apart by so much; 0: ourselves, without a limit */
};

enum dns_asked { DNS_ASKED, DNS_BUSY, DNS_NO_SERVER };

struct dns_found {
	const struct dns_reply *v4, *v6; /* outcome DNS_FAILED also where no answer came */
	bool partial; /* one of them came; the other was not waited for any longer */
};

/* One question, embedded in its owner; zero when nothing is asked. */
struct dns_question {
	struct dns_ask *ask;
	void (*done)(struct dns_question *, const struct dns_found *);
};

/* As resolve_open(); dns_close() is to be called also if it fails. `room` is called when a question
 * can be asked again after DNS_BUSY. */
int dns_open(const struct resolve_options *options, void (*room)(void));
void dns_close(void);

/* Ask for `name`, at most 255 bytes, for this share. DNS_BUSY: all that may be out is out, or all
 * that this share may have out: as many as are left to others. After DNS_ASKED, question->done() is
 * called once, from the reactor, unless dns_leave() comes first. */
enum dns_asked dns_ask(struct dns_question *question, const char *name, uint8_t share);

/* The i-th domain within which a name without a dot is asked for too; NULL past the last. */
const char *dns_suffix(unsigned i);

/* The answer is not wanted any more; nothing if none is awaited. */
void dns_leave(struct dns_question *question);

#endif
