/*
 * One real request through a server, and how long each stage of it took: for ss-ping. The target
 * has to be somebody who answers whoever asks: a name server, or over TCP a web server.
 */
#ifndef APPLETS_PROBE_H
#define APPLETS_PROBE_H

#include "net/dial.h"
#include "net/packet.h"

enum { PROBE_WHY = 300, PROBE_BUFFER = 70 << 10 /* one whole chunk of any method */ };

/* Zeroed, but for what the owner fills in; what is pointed at must stay. */
struct probe {
	const struct wire_key *key;
	const struct endpoint *hop, *target; /* the server, and whom to ask through it */
	const struct socket_options *options;
	unsigned patience; /* ms for all of it */
	bool udp, web;	   /* the target is a web server, over TCP */

	/* When that was over, microseconds from the start; 0: it did not come to that, or there was
	 * nothing to look up or to connect. */
	unsigned looked_up, connected, answered;
	char why[PROBE_WHY]; /* it failed: one sentence */

	/* probe.c's own. */
	uint64_t began;
	uint16_t id; /* of the question */
	size_t told; /* bytes of the answer, over TCP */
	struct dial dial;
	struct lookup lookup; /* of datagrams; a dial has its own */
	struct source far;
	struct timer limit, again;
	struct wire_state up, down;
	struct packet_own own;
	struct packet_peer peers[PACKET_PEERS];
	size_t held; /* bytes in buffer that are no whole chunk yet */
	unsigned char buffer[PROBE_BUFFER];
};

/* Make it, turning the reactor until there is an answer that opens: 0, or -1 with probe->why. After
 * resolve_open(). */
int probe_run(struct probe *probe);

#endif
