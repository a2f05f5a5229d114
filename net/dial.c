/*
 * See dial.h. Facts are the look-up's status, the readiness of each attempt and `may_start`; every
 * wake-up, whatever it was, leads to the owner's dial_run().
 */
#include "net/dial.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void look_again(struct dial *dial)
{
	dial->changed(dial);
}

static void answered(struct lookup *lookup)
{
	look_again(container_of(lookup, struct dial, lookup));
}

static void attempt_woken(struct source *source)
{
	look_again(container_of(source, struct attempt, source)->dial);
}

static void staggered(struct timer *timer)
{
	struct dial *dial = container_of(timer, struct dial, stagger);

	dial->may_start = true;
	look_again(dial);
}

void dial_start(struct dial *dial, const struct endpoint *to, const struct socket_options *options,
		uint8_t share, bool early, void (*changed)(struct dial *))
{
	memset(dial, 0, sizeof(*dial));
	dial->to = to;
	dial->options = options;
	dial->early = early;
	dial->changed = changed;
	dial->may_start = true;
	timer_init(&dial->stagger, staggered);
	for (int i = 0; i < DIAL_AT_ONCE; i++)
		dial->attempts[i] = (struct attempt){ .source.fd = -1, .dial = dial };
	dial->lookup.status = RESOLVE_OK;
	dial->lookup.share = share;
	if (to->type == ENDPOINT_NAME)
		dial->lookup.status = (uint8_t)resolve_start(&dial->lookup, to->host, answered);
}

static unsigned addresses(const struct dial *dial)
{
	return dial->to->type == ENDPOINT_NAME ? dial->lookup.answer->count : 1;
}

static socklen_t address(const struct dial *dial, unsigned i, struct sockaddr_storage *to)
{
	struct address address;

	if (dial->to->type == ENDPOINT_NAME)
		address = dial->lookup.answer->addresses[i];
	else if (!endpoint_address(dial->to, &address))
		return 0;
	address_lead_home(&address);
	return address_socket(&address, dial->to->port, to);
}

/* An address that may be tried is left: the next one. */
static bool has_more(struct dial *dial)
{
	while (dial->next < addresses(dial) && dial->skip >> dial->next & 1)
		dial->next++;
	return dial->next < addresses(dial);
}

/* The index of an attempt that is not under way, or -1. */
static int unused(const struct dial *dial)
{
	for (int i = 0; i < DIAL_AT_ONCE; i++)
		if (dial->attempts[i].source.fd < 0)
			return i;
	return -1;
}

static int oldest(const struct dial *dial)
{
	int found = 0;

	for (int i = 1; i < DIAL_AT_ONCE; i++)
		if (dial->number[i] < dial->number[found])
			found = i;
	return found;
}

static void give_up(struct dial *dial, struct source *source, int error)
{
	reactor_forget(source);
	dial->error = error;
	dial->may_start = true;
}

/* What is under way is watched; from the beginning as what it will be, if there is nothing to
 * choose from. */
static int watch(struct dial *dial, struct attempt *attempt, int fd, bool connected,
		 struct source *to, void (*wake)(struct source *))
{
	bool only = addresses(dial) == 1;

	if (reactor_watch(only ? to : &attempt->source, fd, connected ? READY_OUT : 0,
			  only ? wake : attempt_woken) < 0)
		return -1;
	dial->only = only ? to : NULL;
	return 0;
}

/* Try the next address. DONE: it is under way, or cannot be tried. FAIL: no descriptor. */
static enum step begin(struct dial *dial, struct source *target, void (*wake)(struct source *))
{
	int i = unused(dial) >= 0 ? unused(dial) : oldest(dial);
	struct attempt *attempt = &dial->attempts[i];
	struct sockaddr_storage to;
	socklen_t len = address(dial, dial->next, &to);
	bool connected;

	reactor_forget(&attempt->source);

	int fd = socket_connect((struct sockaddr *)&to, len, dial->options,
				dial->early && addresses(dial) == 1, &connected);

	if (fd < 0) {
		dial->error = errno;
		if (dial_is_short(dial))
			return FAIL;
		dial->next++;
		return DONE;
	}
	dial->number[i] = dial->next++;
	if (watch(dial, attempt, fd, connected, target, wake) < 0) {
		dial->error = errno;
		close(fd);
		return DONE;
	}
	dial->may_start = false;
	if (has_more(dial))
		reactor_after(&dial->stagger, unused(dial) >= 0 ? DIAL_STAGGER : DIAL_PATIENCE);
	return DONE;
}

/* DONE: this attempt is connected, and handed over. WAIT: it is under way. FAIL: there is none. */
static enum step judge(struct dial *dial, struct source *source, struct source *to,
		       void (*wake)(struct source *))
{
	if (source->fd < 0)
		return FAIL;
	if (!(source->ready & READY_OUT))
		return WAIT;

	/* What failed has ended, too. */
	int error = source->ready & (READY_EOF | READY_ERROR) ? socket_error(source->fd) : 0;
	if (error == 0) {
		if (source == to || reactor_move(source, to, wake) == 0)
			return DONE;
		error = errno;
	}
	give_up(dial, source, error);
	return FAIL;
}

/* The same for the attempt at the only address. */
static enum step judge_only(struct dial *dial, struct source *to)
{
	enum step outcome = dial->only ? judge(dial, to, to, NULL) : FAIL;

	if (outcome != WAIT)
		dial->only = NULL;
	return outcome;
}

enum step dial_run(struct dial *dial, struct source *to, void (*wake)(struct source *))
{
	if (dial->lookup.status == RESOLVE_PENDING)
		return WAIT;
	if (dial->lookup.status != RESOLVE_OK) {
		dial->error = dial->lookup.status == RESOLVE_NOT_FOUND ? EHOSTUNREACH : EAGAIN;
		return FAIL;
	}
	for (;;) {
		enum step outcome = judge_only(dial, to);
		bool pending = outcome == WAIT;

		if (outcome == DONE)
			return DONE;
		for (int i = 0; i < DIAL_AT_ONCE; i++) {
			outcome = judge(dial, &dial->attempts[i].source, to, wake);
			if (outcome == DONE)
				return DONE;
			pending |= outcome == WAIT;
		}
		bool more = has_more(dial);

		if (!more && !pending)
			return FAIL;
		if (!more || !dial->may_start)
			return WAIT;
		if (begin(dial, to, wake) == FAIL)
			return pending ? WAIT : FAIL;
	}
}

bool dial_is_short(const struct dial *dial)
{
	return dial->error == EMFILE || dial->error == ENFILE;
}

void dial_end(struct dial *dial)
{
	if (!dial->changed)
		return;
	for (int i = 0; i < DIAL_AT_ONCE; i++)
		reactor_forget(&dial->attempts[i].source);
	if (dial->only) { /* it may have been accepted by now, and then must not see an end */
		socket_reset_on_close(dial->only->fd);
		reactor_forget(dial->only);
	}
	dial->only = NULL;
	reactor_cancel(&dial->stagger);
	resolve_release(&dial->lookup);
	dial->changed = NULL;
}
