/*
 * Where a session or a datagram goes once its target is known: by the access control list of the
 * service, if there is one, to an upstream or to the target itself, or nowhere. Rules are asked by
 * name first; where those of addresses may decide, the name is looked up before there is a verdict,
 * and only addresses that the verdict holds for are dialled or written to.
 */
#ifndef NET_ROUTE_H
#define NET_ROUTE_H

#include "net/acl.h"
#include "net/resolve.h"
#include "net/role.h"

struct dial;
struct session;

/* The step of a session's life: choose the hop and what its flows do, begin to dial; `changed` is
 * what dial_start() takes. FAIL with WHY_REFUSED, logged. If session->undecided is set then, the
 * target is being looked up: route_decide() is to be called until it is DONE. */
enum step route_session(struct session *session, void (*changed)(struct dial *));

/* WAIT: no answer yet, and route_patience() has not passed since the target was known. */
enum step route_decide(struct session *session);

/* ms that the look-up may take: a client goes on without an answer, while there is time for
 * that. */
uint64_t route_patience(const struct session *session);

/* Connected: is it to a listener of the service itself, with nothing in between? A chain of such
 * sessions costs its maker one, and us as many as it has links. Then WHY_REFUSED is set, and
 * logged. */
bool route_loops(struct session *session);

/* What a verdict holds for: a name's addresses but these. */
struct route {
	enum acl_verdict verdict;
	uint32_t skip; /* bit i: not the i-th address of the answer */
	unsigned line; /* of the rule; 0: none */
};

/* What is to become of a target, as far as that is known without its addresses. */
struct route route_target(const struct service *service, const struct endpoint *target);

/* The same once the look-up of its name has ended, in whatever way: never ACL_BY_ADDRESS. */
struct route route_resolved(const struct service *service, const struct endpoint *target,
			    const struct lookup *lookup);

/* May a client of this address be served? If not, that is logged. Behind a plugin, whose address
 * all have: always. */
bool route_admits(const struct service *service, const struct address *client, bool udp);

/* Log, rationed, that a target is refused. */
void route_refused(const struct endpoint *target, const struct route *route);

/* The same because it is the service itself. */
void route_loop(const struct service *service, const struct endpoint *target);

#endif
