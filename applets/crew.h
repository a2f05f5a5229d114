/*
 * Several workers (setting `workers`): what they share, what each of them gets, and what the main
 * process does, which serves nobody itself.
 *
 *	shared memory		salts that were seen, traffic of the services
 *	a socket for each	TCP listeners, bound by the main process: a worker that is replaced
 *				leaves those who wait to its successor
 *	one worker's		the datagrams of a service
 *	divided			buffers, sessions, associations
 *
 * A worker tells what it holds through a pipe when the main process is asked (SIGUSR1).
 */
#ifndef APPLETS_CREW_H
#define APPLETS_CREW_H

#include "core/reactor.h"
#include "core/workers.h"
#include "net/engine.h"

#include <stdbool.h>
#include <sys/types.h>

struct applet;
struct endpoint;
struct service;

struct crew {
	struct workers workers;
	int *spares; /* listeners of the second worker and the others, by listener */
	unsigned spare_count;
	struct traffic *traffic; /* of each worker and service */
	int answers[2];		 /* pipe: what workers hold */
	struct source answer;
	struct timer patience; /* until those that have answered are enough */
	struct engine_state sum;
	unsigned awaited, answered;
	bool works; /* the workers are there, or were */
};

/* Another listener for each worker but the first, beside the service's newest. 0, or -1 with
 * errno. */
int crew_listen(struct applet *applet, struct service *service, bool v6only);

/* Share what exists once; before privileges go. Dies if it cannot be. */
void crew_share(struct applet *applet);

/* Have workers serve until told to stop, with these calls for signals of theirs; watch them. The
 * exit status. */
int crew_serve(struct applet *applet, const struct process_calls *signals);

/* In a worker: tell the main process what it holds. */
void crew_answer(struct applet *applet);

/* Forget what is shared. */
void crew_close(struct applet *applet);

/* Signals of the main process. */
void crew_stop(struct applet *applet);
void crew_report(struct applet *applet);

/* What was moved for a service, by all who served. */
struct traffic applet_traffic(const struct applet *applet, unsigned service);

#endif
