/*
 * One direction of a session: read from one socket, seal, open or copy, write to the other, hold
 * what cannot be written yet, pass the end on. A flow does not know which applet it serves.
 *
 *     FLOW_RUNS ── source ended ───> FLOW_DRAINS ── nothing held ──> FLOW_SHUT (FIN sent)
 *         └──────── source failed ──> FLOW_BREAKS ── all delivered ──> the session is reset
 *
 * A source may fail after its end, too: FLOW_DRAINS or FLOW_SHUT, then FLOW_BREAKS.
 */
#ifndef NET_FLOW_H
#define NET_FLOW_H

#include "core/block.h"

#include <stdbool.h>

struct session;

enum flow_code { FLOW_SEAL, FLOW_OPEN, FLOW_COPY /* neither side is sealed */ };

enum flow_state { FLOW_RUNS, FLOW_DRAINS, FLOW_BREAKS, FLOW_SHUT };

struct flow {
	struct chain held; /* `out` bytes to be written, then `raw` bytes of an unfinished chunk */
	uint32_t out, raw;
	uint32_t need; /* OPEN: raw bytes it takes to open more; else bytes of the last burst */
	uint8_t code;  /* enum flow_code */
	uint8_t state; /* enum flow_state */
	uint8_t batch; /* log2 of the bytes to read at once */
	bool up;       /* near to far */
};

enum flow_result {
	FLOW_WAITS,  /* moved what could be moved */
	FLOW_ENDED,  /* shut: its end was passed on */
	FLOW_BROKEN, /* its source or its destination failed, and what had arrived was passed on */
	FLOW_FORGED  /* the sealed side sent what does not open */
};

void flow_init(struct flow *flow, bool up, enum flow_code code);

/* Move what can be moved now. */
enum flow_result flow_pump(struct session *session, struct flow *flow);

/* Open buf[0..n), which holds all raw bytes of the flow, and hold the outcome, since there is
 * nobody to write to yet. 0, or -1: forged. */
int flow_take(struct session *session, struct flow *flow, unsigned char *buf, size_t n);

/* How many bytes may be read now, so that they can be held whatever becomes of them: `n`, or when
 * blocks are short as many as an unfinished chunk lacks, or 0: the session now waits for blocks.
 * When it is woken, there are enough for FLOW_READ_MIN. */
enum { FLOW_READ_MIN = 16384 };
size_t flow_may_read(struct session *session, struct flow *flow, size_t n);

/* Give back all that is held. */
void flow_drop(struct session *session, struct flow *flow);

/* Scratch memory of at least FLOW_SCRATCH bytes that anybody may use until control goes back to
 * the reactor or to another function here. */
enum { FLOW_SCRATCH = 384 * 1024 };
unsigned char *flow_scratch(void);

#endif
