/*
 * See handshake.h. A stranger's sealed bytes lie in session->shake until they are enough to prove
 * that it knows the key (salt and the first length box); only then may blocks be leased for it.
 * Where the format says so, the first read brings them all, or it is a stranger.
 */
#include "net/handshake.h"

#include "core/fd.h"
#include "net/service.h"
#include "net/session.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	TURN = 1 << 20 /* bytes until others have their turn */
};

/* Read from the near side: DONE with *n > 0, WAIT, or FAIL. */
static enum step read_near(struct session *s, void *to, size_t room, size_t *n)
{
	if (!(s->near.ready & READY_IN))
		return WAIT;

	ssize_t got = recv(s->near.fd, to, room, 0);

	if (got > 0) {
		/* A short read emptied the socket, unless it may go on: nobody would tell again. */
		if ((size_t)got < room && !(s->near.ready & READY_TO_THE_END))
			s->near.ready &= (uint8_t)~READY_IN;
		*n = (size_t)got;
		s->moved = reactor_now();
		return DONE;
	}
	if (got < 0 && errno == EAGAIN) {
		s->near.ready &= (uint8_t)~READY_IN;
		return WAIT;
	}
	if (got < 0)
		s->broken |= SIDE_NEAR;
	s->why = WHY_LEFT;
	return FAIL;
}

enum step handshake_read(struct session *s, size_t limit)
{
	size_t n;

	if (s->shake_len >= limit)
		return WAIT;

	enum step step = read_near(s, s->shake + s->shake_len, limit - s->shake_len, &n);

	if (step == DONE)
		s->shake_len += (uint16_t)n;
	return step;
}

void handshake_use(struct session *s, size_t n)
{
	s->shake_len -= (uint16_t)n;
	memmove(s->shake, s->shake + n, s->shake_len);
}

enum step handshake_answer(struct session *s, const void *bytes, size_t n)
{
	if (send(s->near.fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n)
		return DONE;
	s->why = WHY_LEFT;
	return FAIL;
}

/* Read the address from the bytes that were opened; its beginning may lie in shake already. */
static enum step read_target(struct session *s)
{
	unsigned char bytes[ENDPOINT_WIRE_MAX];
	struct flow *f = &s->up;
	struct block_pool *blocks = &s->service->engine->blocks;
	size_t had = s->shake_len,
	       more = sizeof(bytes) - had < f->out ? sizeof(bytes) - had : f->out;

	memcpy(bytes, s->shake, had);
	chain_peek(&f->held, bytes + had, more);

	int used = endpoint_read(&s->target, bytes, had + more);

	if (used < 0)
		return MUTE;
	if (used > 0)
		more = (size_t)used - had;
	else
		memcpy(s->shake + had, bytes + had, more);
	s->shake_len = used > 0 ? 0 : (uint16_t)(had + more);
	s->up_bytes -= more;
	f->out -= (uint32_t)more;
	chain_drop(blocks, &f->held, more);
	if (used == 0)
		return WAIT;
	endpoint_normalise(&s->target);
	return endpoint_resolvable(&s->target) ? DONE : MUTE;
}

/* Copy to `to` what came before and does not yet make a chunk. */
static size_t take_raw(struct session *s, unsigned char *to)
{
	size_t n;

	if (wire_authenticated(&s->up_wire)) {
		n = s->up.raw;
		chain_peek(&s->up.held, to, n);
		chain_drop(&s->service->engine->blocks, &s->up.held, n);
		s->up.raw = 0;
	} else {
		n = s->shake_len;
		memcpy(to, s->shake, n);
		s->shake_len = 0;
	}
	return n;
}

/* Open buf[0..n): DONE when the target is known, WAIT for more bytes, MUTE. */
static enum step open_first(struct session *s, unsigned char *buf, size_t n)
{
	if (!wire_authenticated(&s->up_wire)) {
		if (n < s->up.need) {
			if (s->key->format->first_read && !s->key->split_reads)
				return MUTE;
			memcpy(s->shake, buf, n);
			s->shake_len = (uint16_t)n;
			return WAIT;
		}
		if (flow_take(s, &s->up, buf, n) < 0)
			return MUTE;
		if (!s->key->format->forgeable)
			session_trust(s);
	} else if (flow_take(s, &s->up, buf, n) < 0) {
		return MUTE;
	}

	enum step step = read_target(s);

	if (step == DONE && s->key->format->forgeable)
		session_trust(s); /* an address is all that can be asked of it */
	return step;
}

enum step handshake_open(struct session *s)
{
	unsigned char *buf = flow_scratch();

	if (s->up.need == 0) /* the first call: how much does it take to tell friend from foe? */
		flow_take(s, &s->up, buf, 0);
	for (size_t taken = 0;;) {
		size_t had, n, room;

		if (taken >= TURN) { /* empty chunks may come for ever */
			reactor_again(&s->near);
			return WAIT;
		}
		room = flow_may_read(s, &s->up, FLOW_READ_MIN);
		if (room == 0)
			return WAIT;
		had = take_raw(s, buf);
		/* Who waits for its target does not hold another block for a few bytes. */
		if (room > BLOCK_ROOM - had % BLOCK_ROOM)
			room = BLOCK_ROOM - had % BLOCK_ROOM;

		enum step step = read_near(s, buf + had, room, &n);
		if (step != DONE)
			n = 0;
		taken += n;
		s->service->traffic->up += n;
		if (had + n > 0 || step == DONE) {
			enum step opened = open_first(s, buf, had + n);

			if (opened != WAIT)
				return opened;
		}
		if (step != DONE)
			return step;
	}
}

enum step handshake_discard(struct session *s)
{
	size_t n, discarded = 0;

	for (;;) {
		enum step step = read_near(s, flow_scratch(), FLOW_SCRATCH, &n);

		if (step == FAIL)
			return DONE;
		if (step == WAIT)
			return WAIT;
		discarded += n;
		if (discarded >= TURN) {
			reactor_again(&s->near);
			return WAIT;
		}
	}
}
