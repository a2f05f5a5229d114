/*
 * One place that is listened on: its listeners, its role, its key or its upstreams, its counters.
 * An applet fills in the configuration part and opens it; a process may have many.
 */
#ifndef NET_SERVICE_H
#define NET_SERVICE_H

#include "core/reactor.h"
#include "net/engine.h"
#include "net/role.h"
#include "net/socket.h"
#include "net/upstream.h"
#include "net/wire.h"

enum { LISTENERS_MAX = 12 };

/* What passed: from the near side as it came (sealed, at a server), and from the far side. */
struct traffic {
	uint64_t up, down;
};

struct acl;

struct listener {
	struct source source;
	struct service *service;
	uint16_t port;
	uint8_t number; /* among its kind */
	uint8_t batch;	/* for datagram_receive() */
};

struct service {
	/* Filled in by the applet before service_init(). */
	struct engine *engine;
	const struct role *role;
	const struct socket_options *sockets;
	struct wire_key key;		/* near side sealed: what clients must know */
	struct upstreams *upstreams;	/* far side sealed: where to relay to; else NULL */
	const void *own;		/* what the role needs besides; the engine does not look */
	struct acl *const *rules;	/* where its owner has the list in force; NULL: no rules */
	struct traffic *traffic;	/* where to count; NULL: in the service */
	void (*gone)(struct service *); /* see service_end() */
	uint64_t timeout;		/* ms; the setting `timeout` */
	uint64_t udp_timeout;		/* ms; 0: follows from that */
	const struct plugin *plugin;	/* a server's, through which connections come; or NULL */
	unsigned mtu; /* bytes of an IP packet between client and server; 0: no limit */

	/* The service's own. */
	uint64_t handshake_time; /* ms from accept until a silent or silenced near side is closed */
	uint64_t connect_time;	 /* ms for look-up plus connect */
	uint64_t idle_time;	 /* ms without traffic until an open relay is closed; 0: never */
	struct listener *listeners; /* allocated to need */
	struct listener *datagrams;
	uint8_t listener_count;
	uint8_t datagram_count; /* 0: no UDP */
	bool ended;
	uint32_t sessions, assocs; /* alive */
	uint32_t uses;		   /* those, and what is not buried yet */
	uint64_t assoc_time;	   /* ms without traffic until an association ends */
	struct timer pause;	   /* accepting waits for descriptors, or for room */
	struct list paused;	   /* among the engine's meanwhile */
	struct burial burial;
	uint32_t number; /* among those of the process */
	struct traffic counts;
	uint64_t accepted; /* connections */
};

/* Derive the times, and lend the keys what they need. Before service_listen(). 0, or -1 with
 * errno. */
int service_init(struct service *service);

/* Listen on one more address. 0, or -1 with errno. Accepting begins with service_start(). */
int service_listen(struct service *service, const struct endpoint *at, bool v6only);

/* The same for datagrams. datagram_open() has run. */
int service_listen_datagrams(struct service *service, const struct endpoint *at, bool v6only);

/* In a worker, before service_start(): it listens with this socket in the place of the i-th; and
 * another worker has the datagrams. */
void service_exchange_listener(struct service *service, unsigned i, int fd);
void service_leave_datagrams(struct service *service);

/* Accept, from the reactor of this process; again after listeners were added or taken over. 0, or
 * -1 with errno. */
int service_start(struct service *service);

/* True if this socket is connected to a listener of the service itself: at the address it is
 * bound to, or, where that is any, at one of this machine's; or to its plugin. */
bool service_is_reached_by(const struct service *service, int fd);

/* True if the service listens there itself, for connections or for datagrams: at that address, or
 * on any and it is one of this machine's. */
bool service_listens_at(const struct service *service, const struct endpoint *at, bool datagrams);

/* True if connections, or datagrams, come through a plugin: all are from this machine then, whoever
 * sent them, and no address says anything. */
bool service_is_plugged(const struct service *service, bool udp);

/* Whose question the name of a target is (struct lookup): the peer's, who came by TCP or UDP;
 * behind a plugin each connection stands for itself, so that nobody waits for all others. */
uint8_t service_share(const struct service *service, const struct address *peer, uint16_t port,
		      bool udp);

/* Stop listening; and free what it has allocated, when the reactor does not turn any more. */
void service_close(struct service *service);
void service_free(struct service *service);

/* Stop listening, and cut all its sessions and associations, while the process goes on. When the
 * last of them is buried, service->gone(service) is called, which may free it. */
void service_end(struct service *service);

/* The same, but its sessions live on, until they end by themselves. */
void service_retire(struct service *service);

/* A session or an association of the service is buried. */
void service_release(struct service *service);

/* Give the listeners of `from`, of TCP or those for datagrams, to `to`, which has none of them; if
 * they are watched, they stay so. */
void service_hand_over(struct service *from, struct service *to, bool datagrams);

#endif
