/*
 * See crew.h. Called by applet.c and listening.c; with one worker nothing here runs.
 */
#include "applets/crew.h"

#include "applets/running.h"
#include "core/fd.h"
#include "core/log.h"
#include "core/shared.h"
#include "net/handover.h"
#include "net/ledger.h"
#include "net/replay.h"
#include "net/resolve.h"
#include "net/salts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE = 1000 }; /* ms for all workers to say what they hold */

static unsigned others(const struct applet *applet)
{
	return applet->settings.workers - 1;
}

int crew_listen(struct applet *applet, struct service *service, bool v6only)
{
	struct crew *crew = &applet->crew;
	unsigned n = others(applet), end = crew->spare_count + n;
	int beside = service->listeners[service->listener_count - 1].source.fd;

	if (n == 0)
		return 0;
	int *spares = realloc(crew->spares, end * sizeof(*spares));
	if (!spares)
		return -1;
	crew->spares = spares;
	for (; crew->spare_count < end; crew->spare_count++) {
		int fd = socket_listen_beside(beside, service->sockets, v6only);

		if (fd < 0)
			return -1;
		spares[crew->spare_count] = fd;
	}
	return 0;
}

static size_t traffic_size(const struct applet *applet)
{
	return sizeof(struct traffic) * applet->settings.workers * applet->service_count;
}

void crew_share(struct applet *applet)
{
	struct crew *crew = &applet->crew;
	unsigned n = applet->settings.workers;

	if (n == 1)
		return;
	if (replay_share(applet->replay) < 0 ||
	    (applet->packet_replay && replay_share(applet->packet_replay) < 0) ||
	    (applet->salts && salts_share(applet->salts) < 0))
		die("workers: one process serves on this system, not %u, since they could not "
		    "share what they must: %s",
		    n, strerror(errno));
	crew->traffic = shared_map(traffic_size(applet));
	if (!crew->traffic || fd_pipe(crew->answers, O_NONBLOCK) < 0 ||
	    handover_open(&applet->engine.handover, n) < 0)
		die("cannot prepare %u workers: %s", n, strerror(errno));
}

/* A worker. */

/* Before its reactor is there: what the main process looks up is not its own. */
static void leave(void *own)
{
	struct applet *applet = own;

	resolve_close();
	close(applet->crew.answers[0]);
}

/* Take the listeners of this place, and close all others. */
static void take_listeners(struct applet *applet, unsigned place)
{
	int *spare = applet->crew.spares;
	unsigned n = others(applet);

	for (unsigned i = 0; i < applet->service_count; i++) {
		struct service *service = applet->services[i];

		for (unsigned j = 0; j < service->listener_count; j++, spare += n) {
			for (unsigned k = 0; k < n; k++)
				if (k + 1 != place)
					close(spare[k]);
			if (place > 0)
				service_exchange_listener(service, j, spare[place - 1]);
		}
	}
}

static void take_services(struct applet *applet, unsigned place)
{
	struct traffic *traffic = applet->crew.traffic + (size_t)place * applet->service_count;

	take_listeners(applet, place);
	if (applet->engine.ledger)
		ledger_start(applet->engine.ledger, place);
	for (unsigned i = 0; i < applet->service_count; i++) {
		struct service *service = applet->services[i];

		service->traffic = &traffic[i];
		if (handover_place(&applet->engine.handover, i) != place)
			service_leave_datagrams(service);
	}
}

/* Smaller than what a pipe takes in one piece. */
void crew_answer(struct applet *applet)
{
	struct engine_state state = engine_state(&applet->engine);

	if (write(applet->crew.answers[1], &state, sizeof(state)) < 0)
		log_debug("the main process does not hear what this worker holds: %s",
			  strerror(errno));
}

static int serve(void *own, unsigned place)
{
	struct applet *applet = own;

	take_services(applet, place);
	applet_open_names(applet);
	if (handover_start(&applet->engine.handover, place, applet->services,
			   applet->service_count) < 0)
		die("cannot watch the box of a worker: %s", strerror(errno));
	applet_start(applet);
	reactor_run();
	applet_close(applet);
	return 0;
}

/* The main process. */

static void say_sum(struct applet *applet)
{
	struct crew *crew = &applet->crew;

	crew->awaited = 0;
	reactor_cancel(&crew->patience);
	applet_report(applet, &crew->sum);
	if (crew->answered < crew->workers.count)
		log_warn("state: %u of %u workers answered", crew->answered, crew->workers.count);
}

static void enough(struct timer *timer)
{
	say_sum(container_of(container_of(timer, struct crew, patience), struct applet, crew));
}

static void add_up(struct engine_state *sum, const struct engine_state *state)
{
	sum->sessions += state->sessions;
	sum->assocs += state->assocs;
	sum->blocks += state->blocks;
	sum->descriptors += state->descriptors;
	sum->lookups += state->lookups;
}

static void answer_woken(struct source *source)
{
	struct crew *crew = container_of(source, struct crew, answer);
	struct engine_state state;

	while (read(source->fd, &state, sizeof(state)) == sizeof(state)) {
		if (crew->awaited == 0)
			continue; /* too late for its sum */
		add_up(&crew->sum, &state);
		crew->answered++;
		if (--crew->awaited == 0)
			say_sum(container_of(crew, struct applet, crew));
	}
	source->ready &= (uint8_t)~READY_IN;
}

void crew_report(struct applet *applet)
{
	struct crew *crew = &applet->crew;

	if (crew->awaited > 0)
		return; /* the sum that is on its way says it */
	crew->sum = (struct engine_state){ 0 };
	crew->answered = 0;
	crew->awaited = workers_signal(&crew->workers, SIGUSR1);
	reactor_after(&crew->patience, crew->awaited > 0 ? PATIENCE : 0);
}

void crew_stop(struct applet *applet)
{
	if (applet->crew.works)
		workers_stop(&applet->crew.workers);
	else
		reactor_stop();
}

int crew_serve(struct applet *applet, const struct process_calls *signals)
{
	struct crew *crew = &applet->crew;

	crew->workers.count = applet->settings.workers;
	crew->workers.signals = signals;
	crew->workers.leave = leave;
	crew->workers.serve = serve;
	crew->workers.own = applet;
	timer_init(&crew->patience, enough);
	if (reactor_watch_input(&crew->answer, crew->answers[0], answer_woken) < 0)
		die("cannot watch workers: %s", strerror(errno));
	crew->works = true;
	workers_start(&crew->workers);
	reactor_run();
	return 0;
}

struct traffic applet_traffic(const struct applet *applet, unsigned i)
{
	const struct traffic *traffic = applet->crew.traffic;
	struct traffic sum = { 0 };

	if (!traffic)
		return applet->services[i]->counts;
	for (unsigned place = 0; place < applet->settings.workers; place++) {
		sum.up += traffic[(size_t)place * applet->service_count + i].up;
		sum.down += traffic[(size_t)place * applet->service_count + i].down;
	}
	return sum;
}

void crew_close(struct applet *applet)
{
	struct crew *crew = &applet->crew;

	if (applet->settings.workers == 1)
		return;
	ledger_close(applet->engine.ledger);
	applet->engine.ledger = NULL;
	free(crew->spares);
	if (crew->traffic)
		shared_unmap(crew->traffic, traffic_size(applet));
	crew->spares = NULL;
	crew->traffic = NULL;
}
