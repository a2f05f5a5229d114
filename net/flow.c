/*
 * See flow.h. A burst is one read into scratch, sealing or opening in place there, one write; bulk
 * that is neither sealed nor opened does not come into our memory at all (net/splice.h).
 * Only what the write did not take, or a chunk that is not yet whole, is copied into blocks:
 *
 *     held:  [ out: to be written | raw: the beginning of a chunk ]
 *
 * Backpressure is the absence of a read: nothing is read while something waits to be written, or
 * while the destination takes nothing, or while there would be no block to hold the burst.
 */
#include "net/flow.h"

#include "net/engine.h"
#include "net/service.h"
#include "net/session.h"
#include "net/splice.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	BATCH_MIN = 14,	     /* log2: FLOW_READ_MIN */
	BATCH_MAX = 18,	     /* log2: 256 KB, beyond it caches are lost */
	BATCH_GROWTH = 2048, /* bytes that sealing may add to a batch */
	SHARE = 5,	     /* log2: a batch is at most this part of the blocks that are free */
	TURN = 1 << 20,	     /* bytes until others have their turn */
	/* bytes of a burst after which the next one is read into many pieces */
	ONE_SLOT = WIRE_CHUNK,
	SPLICE_MIN = 16384, /* bytes of a burst after which the next one is worth a pipe */
	PAYLOAD_AT = FLOW_SCRATCH / 2, /* in scratch: the payload of a first flight */
	PAGE = 4096,
	SEAL_AT = PAGE / 2 /* in scratch: a burst that is sealed */
};

_Static_assert(1 << BATCH_MIN == FLOW_READ_MIN, "the smallest batch is known outside");
_Static_assert(FLOW_READ_MIN + BATCH_GROWTH <= ENGINE_SERVING * BLOCK_ROOM,
	       "the smallest batch must fit");
_Static_assert(WIRE_FIRST_ROOM + WIRE_FIRST_PAYLOAD <= 1 << BATCH_MIN, "the first flight must fit");

static _Alignas(PAGE) unsigned char scratch[FLOW_SCRATCH];

/* The two ends of a flow; what it may still read until others have their turn, and in the next
 * burst. */
struct ends {
	struct source *from, *to;
	uint8_t from_side, to_side;
	struct wire_state *wire;
	uint64_t *count;
	size_t budget, batch;
	bool last; /* the source's end came with what was read last */
};

static struct ends ends_of(struct session *s, const struct flow *f)
{
	if (f->up)
		return (struct ends){ &s->near,	    &s->far, SIDE_NEAR, SIDE_FAR, &s->up_wire,
				      &s->up_bytes, TURN,    0,		false };
	return (struct ends){ &s->far,	      &s->near, SIDE_FAR, SIDE_NEAR, &s->down_wire,
			      &s->down_bytes, TURN,	0,	  false };
}

unsigned char *flow_scratch(void)
{
	return scratch;
}

void flow_init(struct flow *flow, bool up, enum flow_code code)
{
	*flow = (struct flow){ .up = up, .code = code, .batch = BATCH_MAX };
}

void flow_drop(struct session *s, struct flow *f)
{
	chain_return(&s->service->engine->blocks, &f->held);
	f->out = f->raw = 0;
}

size_t flow_may_read(struct session *s, struct flow *f, size_t n)
{
	struct engine *engine = s->service->engine;
	size_t room = block_room(&engine->blocks, &f->held);
	size_t lacks =
		f->code == FLOW_OPEN && f->raw > 0 && f->raw < f->need ? f->need - f->raw : 0;

	if (n + BATCH_GROWTH + engine_reserve(engine, s) <= room)
		return n;
	if (lacks > 0 && lacks <= room)
		return lacks;
	engine_wait(engine, s, lacks > 0 && lacks <= room % BLOCK_ROOM + BLOCK_ROOM);
	return 0;
}

/* Hold bytes for which flow_may_read() has seen to it that there is room. */
static void hold(struct session *s, struct flow *f, const void *bytes, size_t n)
{
	int held = chain_append(&s->service->engine->blocks, &f->held, bytes, n);

	assert(held == 0);
	(void)held;
}

/* The destination failed: nothing more can go there. Whether its own direction still has bytes for
 * us, the other flow finds out. */
static void destination_failed(struct session *s, struct flow *f, const struct ends *e)
{
	s->broken |= e->to_side;
	e->to->ready |= READY_IN | READY_ERROR;
	flow_drop(s, f);
}

/* A write that failed: not now, or never again. */
static void write_failed(struct session *s, struct flow *f, const struct ends *e)
{
	e->to->ready &= (uint8_t)~READY_OUT;
	if (errno != EAGAIN && errno != EINPROGRESS)
		destination_failed(s, f, e);
}

/* Is the destination connected, as far as is known without asking? Only with fast open is it not at
 * once, as long as it has not answered. */
static bool knows_connected(const struct session *s, const struct flow *f)
{
	return !f->up || s->down_bytes > 0 || !s->service->sockets->fast_open;
}

/* Write; the bytes taken, 0 if none can be now or the destination failed. `last`: the end follows,
 * and may travel with them. */
static size_t write_some(struct session *s, struct flow *f, const struct ends *e, struct iovec *iov,
			 int n, size_t total, bool last)
{
	if (e->to->fd < 0 || !(e->to->ready & READY_OUT))
		return 0;

	ssize_t taken = socket_write(e->to->fd, iov, n, last && knows_connected(s, f));

	if (taken < 0) {
		write_failed(s, f, e);
		return 0;
	}
	if ((size_t)taken < total)
		e->to->ready &= (uint8_t)~READY_OUT; /* an edge will tell */
	s->moved = reactor_now();
	return (size_t)taken;
}

/* The next burst should be what the destination just took at once, or more if it took all. */
static void adapt(struct flow *f, size_t taken, size_t total)
{
	if (taken == total) {
		if (f->batch < BATCH_MAX &&
		    total >> (f->batch - 1)) /* opened bytes are fewer than were read */
			f->batch++;
		return;
	}
	while (f->batch > BATCH_MIN && taken < (size_t)1 << f->batch)
		f->batch--;
}

/* Pass fresh bytes on, the last ones or not; what is not taken is held. */
static void deliver(struct session *s, struct flow *f, const struct ends *e, struct iovec *iov,
		    int n, size_t total, bool last)
{
	if (total == 0)
		return;

	size_t taken = write_some(s, f, e, iov, n, total, last), skip = taken;

	if (s->broken & e->to_side)
		return;
	if (e->to->fd >= 0)
		adapt(f, taken, total);
	for (int i = 0; i < n && taken < total; i++) {
		size_t part = iov[i].iov_len;

		if (skip >= part) {
			skip -= part;
			continue;
		}
		hold(s, f, (unsigned char *)iov[i].iov_base + skip, part - skip);
		skip = 0;
	}
	f->out += (uint32_t)(total - taken);
}

/* Write what is held. */
static void write_held(struct session *s, struct flow *f, const struct ends *e)
{
	struct iovec iov[16];

	while (f->out > 0 && e->to->ready & READY_OUT) {
		int n = chain_iov(&f->held, iov, 16, f->out);
		size_t total = 0;

		for (int i = 0; i < n; i++)
			total += iov[i].iov_len;
		size_t taken = write_some(s, f, e, iov, n, total,
					  f->state == FLOW_DRAINS && total == f->out);
		if (s->broken & e->to_side)
			return;
		chain_drop(&s->service->engine->blocks, &f->held, taken);
		f->out -= (uint32_t)taken;
	}
}

/* The source sends no more. An end inside a chunk, or after the connection failed, is no end. */
static void source_ended(struct session *s, struct flow *f, const struct ends *e)
{
	bool inside = f->code == FLOW_OPEN && (f->raw > 0 || e->wire->length_open);

	f->state = inside || s->broken & e->from_side ? FLOW_BREAKS : FLOW_DRAINS;
	s->moved = reactor_now();
}

/* What a read said: > 0 bytes, 0: nothing now, or the source ended or failed and the flow's state
 * says so. */
static size_t was_read(struct session *s, struct flow *f, struct ends *e, ssize_t got)
{
	if (got > 0) {
		s->moved = reactor_now();
		*(f->up ? &s->service->traffic->up : &s->service->traffic->down) += (size_t)got;
		e->budget -= (size_t)got < e->budget ? (size_t)got : e->budget;
		return (size_t)got;
	}
	if (got < 0 && errno == EAGAIN && !(s->broken & e->from_side)) {
		e->from->ready &= (uint8_t)~READY_IN;
		return 0;
	}
	if (got < 0)
		s->broken |= e->from_side;
	source_ended(s, f, e);
	return 0;
}

/* Read, and see was_read(). */
static size_t read_some(struct session *s, struct flow *f, struct ends *e, struct iovec *iov, int n,
			size_t total)
{
	ssize_t got = socket_read(e->from->fd, iov, n);

	/* A short read emptied the socket, unless it may go on: nobody would tell again. */
	if (got > 0 && (size_t)got < total) {
		if (!(e->from->ready & READY_TO_THE_END))
			e->from->ready &= (uint8_t)~READY_IN;
		e->last = (e->from->ready & (READY_LAST | READY_URGENT)) == READY_LAST &&
			  !(s->broken & e->from_side);
	}
	return was_read(s, f, e, got);
}

/* The first flight of a direction: salt, upward the address header, and the first payload. The
 * header waits a moment for the payload. False: it still waits. */
static bool burst_first(struct session *s, struct flow *f, struct ends *e)
{
	unsigned char *payload = scratch + PAYLOAD_AT;
	size_t n = f->up ? s->shake_len : 0;
	struct iovec iov = { .iov_base = payload + n, .iov_len = WIRE_FIRST_PAYLOAD - n };

	if (n > 0)
		memcpy(payload, s->early, n);
	if (f->state == FLOW_RUNS && e->from->ready & READY_IN)
		n += read_some(s, f, e, &iov, 1, iov.iov_len);
	if (n == 0 &&
	    (!f->up || (f->state == FLOW_RUNS && reactor_now() < s->asked + FIRST_PAYLOAD_WAIT)))
		return false;
	s->shake_len = 0;
	*e->count += n;
	f->need = n < WIRE_FIRST_PAYLOAD ? 0 : ONE_SLOT; /* all that it may take: more is to come */
	if (!f->up)
		wire_answers(&s->down_wire, &s->up_wire);
	iov.iov_len = wire_first(s->key, e->wire, f->up ? &s->target : NULL, payload, n, scratch);
	iov.iov_base = scratch;
	if (f->up)
		wire_answers(&s->down_wire, &s->up_wire);
	deliver(s, f, e, &iov, 1, iov.iov_len, e->last);
	return true;
}

/* What applications write in blocks lies at the beginning of the kernel's pages. On AMD's Zen 3 the
 * kernel's way to copy (rep movsb) takes ten times as long to a place that is up to 31 bytes
 * further in its page than the source in its own, which the first slot, 18 bytes into a page, would
 * be: so the slots begin amid one. Into one piece the kernel reads for less than into many: they
 * wait until a burst has filled one. */
static bool burst_seal(struct session *s, struct flow *f, struct ends *e)
{
	struct iovec iov[WIRE_IOV];
	unsigned char *buf = scratch + SEAL_AT;
	size_t batch = f->need < ONE_SLOT && e->batch > ONE_SLOT ? ONE_SLOT : e->batch;
	int slots = wire_slots(s->key, buf, sizeof(scratch) - SEAL_AT, batch, iov);
	size_t n = read_some(s, f, e, iov, slots, batch);

	if (n == 0)
		return false;
	*e->count += n;
	f->need = (uint32_t)n;
	iov[0].iov_len = wire_seal(s->key, e->wire, buf, n);
	iov[0].iov_base = buf;
	deliver(s, f, e, iov, 1, iov[0].iov_len, e->last);
	return true;
}

/* Open what lies at buf[0..n) and pass it on; the unfinished rest is held as raw. */
static int open_bytes(struct session *s, struct flow *f, const struct ends *e, unsigned char *buf,
		      size_t n)
{
	struct iovec iov[WIRE_IOV];
	struct wire_opened opened;

	do {
		if (wire_open(s->key, e->wire, buf, n, iov, &opened) < 0)
			return -1;
		*e->count += opened.payload;
		buf += opened.used;
		n -= opened.used;
		deliver(s, f, e, iov, opened.iovs, opened.payload,
			e->last && n == 0 && !e->wire->length_open);
		f->need = (uint32_t)opened.need;
	} while (n >= f->need && f->out == 0 && !(s->broken & e->to_side));
	if (s->broken & e->to_side)
		return 0;
	hold(s, f, buf, n);
	f->raw = (uint32_t)n;
	return 0;
}

int flow_take(struct session *s, struct flow *f, unsigned char *buf, size_t n)
{
	struct ends e = ends_of(s, f);

	return open_bytes(s, f, &e, buf, n);
}

static int burst_open(struct session *s, struct flow *f, struct ends *e)
{
	size_t had = f->raw, n = had;

	if (had < f->need || had == 0) {
		struct iovec iov = { .iov_base = scratch + had, .iov_len = e->batch };

		n += read_some(s, f, e, &iov, 1, iov.iov_len);
		if (n == had)
			return 0;
	}
	if (n < f->need) {
		hold(s, f, scratch + had, n - had);
		f->raw = (uint32_t)n;
		return 1;
	}
	if (had > 0) {
		chain_peek(&f->held, scratch, had);
		chain_drop(&s->service->engine->blocks, &f->held, had);
		f->raw = 0;
	}
	return open_bytes(s, f, e, scratch, n) < 0 ? -1 : 1;
}

/* What the destination did not take is in the pipe, and is held like any other; adapt() sees to it
 * that this becomes little. */
static bool burst_splice(struct session *s, struct flow *f, struct ends *e)
{
	struct splice_pipe *pipe = &s->service->engine->splice;
	ssize_t came = splice_in(pipe, e->from->fd, e->batch);

	if (came < 0 && errno == EINVAL) { /* not with these sockets */
		splice_close(pipe);
		return true;
	}
	if (came == 0) { /* the end; or urgent data, at which only a read goes on */
		f->need = 0;
		return true;
	}

	size_t n = was_read(s, f, e, came);

	if (n == 0)
		return false;
	*e->count += n;
	f->need = (uint32_t)n;

	ssize_t went = splice_out(pipe, e->to->fd, n);
	size_t taken = went < 0 ? 0 : (size_t)went;

	if (went < 0)
		write_failed(s, f, e);
	for (size_t left = n - taken; left > 0;) {
		ssize_t part = read(pipe->out, scratch, left);

		assert(part > 0);
		if (!(s->broken & e->to_side))
			hold(s, f, scratch, (size_t)part);
		left -= (size_t)part;
	}
	if (s->broken & e->to_side)
		return true;
	f->out += (uint32_t)(n - taken);
	adapt(f, taken, n);
	return true;
}

/* As it is. Upward, what came with the request goes first. */
static bool burst_copy(struct session *s, struct flow *f, struct ends *e)
{
	size_t n = f->up ? s->shake_len : 0;
	struct iovec iov = { .iov_base = scratch + n, .iov_len = e->batch };

	if (n > 0) {
		memcpy(scratch, s->early, n);
		s->shake_len = 0;
	}
	if (e->from->ready & READY_IN)
		n += read_some(s, f, e, &iov, 1, e->batch);
	if (n == 0)
		return false;
	*e->count += n;
	f->need = (uint32_t)n;
	iov = (struct iovec){ .iov_base = scratch, .iov_len = n };
	deliver(s, f, e, &iov, 1, n, e->last);
	return true;
}

static bool is_bulk(const struct session *s, const struct flow *f, const struct ends *e)
{
	return f->need >= SPLICE_MIN && s->service->engine->splice.in >= 0 &&
	       !(e->from->ready & READY_URGENT);
}

/* 1: something moved; 0: nothing; -1: forged. */
static int burst(struct session *s, struct flow *f, struct ends *e)
{
	if (f->code == FLOW_OPEN)
		return burst_open(s, f, e);
	if (f->code == FLOW_COPY)
		return is_bulk(s, f, e) ? burst_splice(s, f, e) : burst_copy(s, f, e);
	return e->wire->begun ? burst_seal(s, f, e) : burst_first(s, f, e);
}

/* Upward, the header must go out even if no payload ever came; and what came with the request. */
static bool first_is_due(const struct session *s, const struct flow *f, const struct ends *e)
{
	if (!f->up || f->code == FLOW_OPEN)
		return false;
	return f->code == FLOW_SEAL ? !e->wire->begun : s->shake_len > 0;
}

/* A chunk that has come, but was not opened, since what came before it had to be written. */
static bool has_chunk(const struct flow *f)
{
	return f->code == FLOW_OPEN && f->raw > 0 && f->raw >= f->need;
}

/* May the next burst begin? With few blocks left it is made smaller. */
static bool may_burst(struct session *s, struct flow *f, struct ends *e)
{
	bool first = first_is_due(s, f, e);

	if (!(e->to->ready & READY_OUT) || f->out > 0)
		return false;
	if (has_chunk(f))
		return true; /* what it opens to takes no more blocks than it does */
	if (!(e->from->ready & READY_IN) && !first)
		return false;
	while (f->batch > BATCH_MIN &&
	       block_room(&s->service->engine->blocks, &f->held) >> SHARE >> f->batch == 0)
		f->batch--;
	e->batch = flow_may_read(s, f, (size_t)1 << f->batch);
	return e->batch > 0;
}

/* The other direction of its session. */
static const struct flow *back_of(const struct session *s, const struct flow *f)
{
	return f->up ? &s->down : &s->up;
}

/* The source ended before, and now its connection failed. (An end of ours, sent after its end,
 * looks the same to the poller.) */
static bool failed_after_end(const struct session *s, const struct flow *f, const struct ends *e)
{
	if (f->state != FLOW_DRAINS && f->state != FLOW_SHUT)
		return false;
	return s->broken & e->from_side ||
	       (e->from->ready & READY_ERROR && back_of(s, f)->state != FLOW_SHUT);
}

/* The failure is passed on as a reset, which would overtake what the kernel still has to send. */
static enum flow_result break_off(struct session *s, struct flow *f, const struct ends *e)
{
	uint32_t unsent = (uint32_t)socket_unsent(e->to->fd);

	if (unsent == 0 || !socket_connected(e->to->fd))
		return FLOW_BROKEN;
	if (unsent != f->need) /* of no other use any more */
		s->moved = reactor_now();
	f->need = unsent;
	return FLOW_WAITS;
}

/* Nothing more comes from the source: pass the end on once all is written. */
static enum flow_result finish(struct session *s, struct flow *f, const struct ends *e)
{
	if (f->out > 0)
		return FLOW_WAITS;
	if (f->state == FLOW_BREAKS)
		return break_off(s, f, e);
	/* With fast open the first bytes may be under way to a peer that has not answered: an end
	 * now would take them back. */
	if (!knows_connected(s, f) && !socket_connected(e->to->fd) && !(e->to->ready & READY_ERROR))
		return FLOW_WAITS;
	if (back_of(s, f)->state != FLOW_SHUT) /* else the session ends now, which says so, too */
		shutdown(e->to->fd, SHUT_WR);
	f->state = FLOW_SHUT;
	flow_drop(s, f);
	return FLOW_ENDED;
}

enum flow_result flow_pump(struct session *s, struct flow *f)
{
	struct ends e = ends_of(s, f);

	if (failed_after_end(s, f, &e))
		f->state = FLOW_BREAKS;
	if (f->state == FLOW_SHUT)
		return FLOW_ENDED;
	for (;;) {
		write_held(s, f, &e);
		if (s->broken & e.to_side)
			return f->state == FLOW_BREAKS ? FLOW_BROKEN : FLOW_WAITS;
		if (f->state != FLOW_RUNS)
			return finish(s, f, &e);
		if (e.budget == 0) {
			reactor_again(e.from);
			return FLOW_WAITS;
		}
		if (!may_burst(s, f, &e))
			return FLOW_WAITS;

		int moved = burst(s, f, &e);
		if (moved < 0)
			return FLOW_FORGED;
		if (e.last && !has_chunk(f) && f->state == FLOW_RUNS)
			source_ended(s, f, &e);
		if (moved == 0 && f->state == FLOW_RUNS)
			return FLOW_WAITS;
	}
}
