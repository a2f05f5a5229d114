/*
 * See datagram.h. Three areas, reserved once and touched as they are used:
 *
 *	slots	what was received, one piece each, with room in front and behind
 *	spill	what had to be moved to have that room, one after the other
 *	dress	heads of what is to be sent
 *
 * and the outbox: runs of datagrams that leave from one socket for one destination, in the order of
 * their coming. A run takes another datagram if it is the latest one between these two, all its
 * datagrams are equally long and the new one is not longer. At the end of the turn all is free
 * again.
 */
#include "net/datagram.h"

#include "net/endpoint.h"

#include "core/log.h"
#include "core/pages.h"
#include "net/socket.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

enum {
	PIECE_MAX = 65535,
	/* no power of two: caches */
	SLOT = (DATAGRAM_HEAD + PIECE_MAX + DATAGRAM_TAIL + 64) / 64 * 64,
	SLOTS_SIZE = (DATAGRAM_BURST * SLOT + 65535) / 65536 * 65536,
	SPILL = 1 << 20,
	DRESS = 1 << 15,
	RUNS = DATAGRAM_BURST,
	PARTS = 1024,
	RUN_MAX = 61440,  /* bytes of a piece that is cut; the kernel takes a little more */
	RUN_PARTS = 64,	  /* datagrams of such a piece; the kernel's limit */
	SLOTS_WANTED = 8, /* free ones before a call to receive */
	MERGED_BATCH = 8, /* pieces at a time, where they are large ones */
	BATCH_MIN = 2,
	ERRORS = 64,   /* that ICMP may have left on a socket, before we look again later */
	MINUTE = 60000 /* ms */
};

struct part {
	unsigned char *dress, *bytes;
	uint32_t dress_len, n, next;
};

struct run {
	int fd;
	bool connected, anywhere; /* no `to`, no `from` */
	bool closed;		  /* the last part was shorter */
	bool done;
	union inet to;
	struct origin from;
	uint32_t segment, count, size, first, last;
};

static struct datagrams {
	unsigned char *slots, *spill, *dress;
	uint32_t slots_used, spill_used, dress_used;
	struct datagram pieces[DATAGRAM_BURST];
	struct run runs[RUNS];
	struct part parts[PARTS];
	uint32_t run_count, part_count;
	struct burial turn; /* calls datagram_flush() at the end of the turn */
	bool turn_set;
	bool segments;	      /* the kernel can cut */
	bool asked;	      /* and we know whether */
	uint32_t segment_max; /* longer ones were refused a moment ago */
	bool stirred, dirty;  /* since the last rest; memory was touched */
	uint64_t too_large, told;
} state;

socklen_t inet_len(const union inet *inet)
{
	return inet->any.sa_family == AF_INET6 ? sizeof inet->v6 : sizeof inet->v4;
}

bool inet_equal(const union inet *a, const union inet *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET)
		return a->v4.sin_port == b->v4.sin_port &&
		       a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
	return a->v6.sin6_port == b->v6.sin6_port &&
	       memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof a->v6.sin6_addr) == 0 &&
	       a->v6.sin6_scope_id == b->v6.sin6_scope_id;
}

bool inet_from_address(const struct address *address, uint16_t port, union inet *to)
{
	struct sockaddr_storage storage;
	struct address target = *address;
	socklen_t len;

	address_lead_home(&target);
	len = address_socket(&target, port, &storage);
	memcpy(to, &storage, len);
	return len > 0;
}

bool inet_from_endpoint(const struct endpoint *endpoint, union inet *to)
{
	struct address address;

	return endpoint_address(endpoint, &address) &&
	       inet_from_address(&address, endpoint->port, to);
}

static bool origin_equal(const struct origin *a, const struct origin *b)
{
	return a->family == b->family && a->interface == b->interface &&
	       memcmp(a->ip, b->ip, sizeof a->ip) == 0;
}

static void turn_ends(struct burial *burial)
{
	(void)burial;
	state.turn_set = false;
	datagram_flush();
	state.slots_used = state.spill_used = 0;
}

int datagram_open(void)
{
	if (state.slots)
		return 0;
	state.slots = pages_reserve(SLOTS_SIZE);
	state.spill = pages_reserve(SPILL);
	state.dress = pages_reserve(DRESS);
	if (!state.slots || !state.spill || !state.dress)
		return -1;
	state.turn.bury = turn_ends;
	state.segment_max = PIECE_MAX;
	return 0;
}

void datagram_close(void)
{
	if (!state.slots)
		return;
	pages_release(state.slots, SLOTS_SIZE);
	pages_release(state.spill, SPILL);
	pages_release(state.dress, DRESS);
	state = (struct datagrams){ 0 };
}

/* At the end of this turn: what was gathered leaves, and all memory is free. */
static void set_turn(void)
{
	if (state.turn_set)
		return;
	state.turn_set = true;
	reactor_bury(&state.turn);
}

/* Receiving. */

static void prepare(int n)
{
	for (int i = 0; i < n; i++)
		state.pieces[i].bytes =
			state.slots + (state.slots_used + (uint32_t)i) * SLOT + DATAGRAM_HEAD;
}

/* Receive; what ICMP said about datagrams that we sent is not of interest. */
static int receive(struct source *source, int max)
{
	for (int i = 0; i < ERRORS; i++) {
		int n = batch_receive(source->fd, state.pieces, max);

		if (n >= 0 || errno == EAGAIN)
			return n < 0 ? 0 : n;
	}
	reactor_again(source);
	return -1;
}

/* More at a time where more came, and few at a time where each is large. */
static uint8_t next_batch(int got, int max)
{
	for (int i = 0; i < got; i++)
		if (state.pieces[i].n > state.pieces[i].segment)
			return MERGED_BATCH;
	if (got == max)
		return (uint8_t)(2 * max < DATAGRAM_BURST ? 2 * max : DATAGRAM_BURST);
	return (uint8_t)(got < max / 4 && max / 2 >= BATCH_MIN ? max / 2 : max);
}

int datagram_receive(struct source *source, uint8_t *batch, struct datagram **pieces)
{
	int max = *batch ? *batch : BATCH_MIN, n, room;

	*pieces = state.pieces;
	if (!(source->ready & READY_IN))
		return 0;
	if (DATAGRAM_BURST - state.slots_used < SLOTS_WANTED) {
		datagram_flush();
		state.slots_used = 0;
	}
	room = (int)(DATAGRAM_BURST - state.slots_used);
	if (max > room)
		max = room;
	prepare(max);
	n = receive(source, max);
	if (n < 0)
		return 0;
	if (n < max) {
		/* An error ends a batch as emptiness does: then only an empty batch is a proof. */
		if (n == 0 || !(source->ready & READY_ERROR))
			source->ready &= (uint8_t)~READY_IN;
		source->ready &= (uint8_t)~READY_ERROR;
	}
	*batch = next_batch(n, max);
	if (n > 0) {
		state.slots_used += (uint32_t)n;
		state.stirred = state.dirty = true;
		set_turn();
	}
	return n;
}

unsigned char *datagram_room(size_t n)
{
	size_t need = (DATAGRAM_HEAD + n + DATAGRAM_TAIL + 63) / 64 * 64;
	unsigned char *room;

	assert(n <= PIECE_MAX);
	if (SPILL - state.spill_used < need) {
		datagram_flush();
		state.spill_used = 0;
	}
	room = state.spill + state.spill_used + DATAGRAM_HEAD;
	state.spill_used += (uint32_t)need;
	state.stirred = state.dirty = true;
	set_turn();
	return room;
}

/* Gathering. */

static bool is_between(const struct run *run, int fd, const union inet *to,
		       const struct origin *from)
{
	if (run->fd != fd || run->connected != !to || run->anywhere != !from)
		return false;
	return (!to || inet_equal(&run->to, to)) && (!from || origin_equal(&run->from, from));
}

/* The latest run between the two, if it takes n bytes more; else NULL. */
static struct run *run_for(int fd, const union inet *to, const struct origin *from, size_t n)
{
	for (uint32_t i = state.run_count; i-- > 0;) {
		struct run *run = &state.runs[i];

		if (!is_between(run, fd, to, from))
			continue;
		return run->closed || n > run->segment || n == 0 || run->count == RUN_PARTS ||
				       run->size + n > RUN_MAX
			       ? NULL
			       : run;
	}
	return NULL;
}

static struct run *new_run(int fd, const union inet *to, const struct origin *from, size_t n)
{
	struct run *run = &state.runs[state.run_count++];

	*run = (struct run){
		.fd = fd,
		.connected = !to,
		.anywhere = !from,
		.segment = (uint32_t)n,
		.closed = n == 0,
	};
	if (to)
		run->to = *to;
	if (from)
		run->from = *from;
	return run;
}

static uint32_t new_part(const void *dress, size_t dress_len, unsigned char *bytes, size_t n)
{
	struct part *part = &state.parts[state.part_count];

	*part = (struct part){
		.bytes = bytes,
		.n = (uint32_t)n,
		.dress = state.dress + state.dress_used,
		.dress_len = (uint32_t)dress_len,
	};
	if (dress_len > 0)
		memcpy(part->dress, dress, dress_len);
	state.dress_used += (uint32_t)dress_len;
	return state.part_count++;
}

void datagram_send(int fd, const union inet *to, const struct origin *from, const void *dress,
		   size_t dress_len, unsigned char *bytes, size_t n)
{
	struct run *run;
	uint32_t part;

	assert(dress_len <= DATAGRAM_DRESS_MAX);
	if (from && from->family == 0)
		from = NULL;
	if (state.part_count == PARTS || DRESS - state.dress_used < dress_len)
		datagram_flush();
	run = run_for(fd, to, from, dress_len + n);
	if (!run && state.run_count == RUNS)
		datagram_flush();
	if (!run)
		run = new_run(fd, to, from, dress_len + n);
	part = new_part(dress, dress_len, bytes, n);
	if (run->count > 0)
		state.parts[run->last].next = part;
	else
		run->first = part;
	run->last = part;
	run->count++;
	run->size += (uint32_t)(dress_len + n);
	run->closed = run->closed || dress_len + n < run->segment;
	set_turn();
}

/* Sending. */

/* What is ready to go: pieces, and what they consist of. */
static struct {
	struct outgoing out[DATAGRAM_BURST];
	struct iovec iov[DATAGRAM_BURST * 2 + RUN_PARTS * 2];
	int count;
	unsigned iovs;
} tray;

static bool is_pending_error(int error)
{
	return error != EAGAIN && error != ENOBUFS && error != ENOMEM && error != EINVAL &&
	       error != EBADF;
}

void datagram_too_large(void)
{
	state.too_large++;
}

/* Not with one call as a piece, so each part by itself. False: not so either. */
static bool send_parts(int fd, const struct outgoing *o)
{
	struct outgoing single = *o;
	unsigned at = 0;
	bool any = false;

	single.segment = 0;
	while (at < o->iovs) {
		size_t size = 0;

		single.iov = &o->iov[at];
		single.iovs = 0;
		do
			size += o->iov[at + single.iovs++].iov_len;
		while (size < o->segment && at + single.iovs < o->iovs);
		at += single.iovs;
		if (batch_send(fd, &single, 1) >= 0)
			any = true;
		else if (errno == EMSGSIZE)
			state.too_large++;
	}
	return any;
}

/* The kernel does not cut this: not at all, or not at this size, which is more than the path
 * carries. */
static void refuse_segments(const struct outgoing *o, int error)
{
	if (error == EINVAL || error == EMSGSIZE)
		state.segment_max = o->segment - 1u;
	else
		state.segments = false;
}

static void send_tray(int fd)
{
	const struct outgoing *o = tray.out;
	int left = tray.count;
	bool again = false;

	while (left > 0) {
		int sent = batch_send(fd, o, left), error = errno;

		if (sent > 0) {
			o += sent;
			left -= sent;
			again = false;
			continue;
		}
		if (error == EINTR)
			continue;
		if (o->segment &&
		    (error == EINVAL || error == EMSGSIZE || error == EIO || error == EOPNOTSUPP)) {
			if (send_parts(fd, o)) /* it was not the destination */
				refuse_segments(o, error);
		} else if (error == EAGAIN || error == ENOBUFS) {
			break; /* as a full queue on the way does */
		} else if (error == EMSGSIZE) {
			state.too_large++;
		} else if (is_pending_error(error) && !again) {
			again = true; /* about an earlier one: this one was not looked at */
			continue;
		}
		again = false;
		o++;
		left--;
	}
	tray.count = 0;
	tray.iovs = 0;
}

static void put_iov(const struct part *part)
{
	if (part->dress_len > 0)
		tray.iov[tray.iovs++] = (struct iovec){ part->dress, part->dress_len };
	if (part->n > 0 || part->dress_len == 0)
		tray.iov[tray.iovs++] = (struct iovec){ part->bytes, part->n };
}

/* A place on the tray for a piece of so many parts. */
static struct outgoing *next_out(const struct run *run, uint32_t parts)
{
	struct outgoing *o;

	if (tray.count == DATAGRAM_BURST ||
	    tray.iovs + 2 * parts > sizeof tray.iov / sizeof tray.iov[0])
		send_tray(run->fd);
	o = &tray.out[tray.count++];
	*o = (struct outgoing){
		.iov = &tray.iov[tray.iovs],
		.to = run->connected ? NULL : &run->to,
		.from = run->anywhere ? NULL : &run->from,
	};
	return o;
}

static bool may_cut(const struct run *run)
{
	if (!state.asked) {
		state.asked = true;
		state.segments = socket_segments(run->fd);
	}
	return run->count > 1 && state.segments && run->segment <= state.segment_max;
}

static void put_run(const struct run *run)
{
	bool whole = may_cut(run);
	uint32_t at = run->first;
	struct outgoing *o = NULL;

	for (uint32_t i = 0; i < run->count; i++, at = state.parts[at].next) {
		unsigned before;

		if (!o || !whole)
			o = next_out(run, whole ? run->count : 1);
		before = tray.iovs;
		put_iov(&state.parts[at]);
		o->iovs += tray.iovs - before;
	}
	if (whole)
		o->segment = (uint16_t)run->segment;
}

void datagram_flush(void)
{
	for (uint32_t i = 0; i < state.run_count; i++) {
		int fd = state.runs[i].fd;

		if (state.runs[i].done)
			continue;
		for (uint32_t j = i; j < state.run_count; j++) {
			if (state.runs[j].done || state.runs[j].fd != fd)
				continue;
			put_run(&state.runs[j]);
			state.runs[j].done = true;
		}
		send_tray(fd);
	}
	state.run_count = state.part_count = state.dress_used = 0;
}

void datagram_leave(int fd)
{
	for (uint32_t i = 0; i < state.run_count; i++) {
		if (state.runs[i].fd == fd) {
			datagram_flush();
			return;
		}
	}
}

void datagram_rest(uint64_t now)
{
	if (!state.slots)
		return;
	if (state.dirty && !state.stirred) {
		pages_drop(state.slots, SLOTS_SIZE);
		pages_drop(state.spill, SPILL);
		state.dirty = false;
	}
	state.stirred = false;
	if (now - state.told < MINUTE && state.told)
		return;
	state.segment_max = PIECE_MAX; /* paths change */
	if (state.too_large) {
		log_warn("%llu datagrams were too large to be sent and are lost (see mtu)",
			 (unsigned long long)state.too_large);
		state.too_large = 0;
	}
	state.told = now;
}
