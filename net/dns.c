/*
 * See dns.h. Called by resolve.c; route.c looks at the search list. The questions are our own
 * messages with our own ids: the ids that c-ares 1.18 makes are guessable where /dev/urandom is
 * missing.
 *
 *     dns_ask ──> out ──> both answered ──> finished ──> done, slot free
 *                  └───> one answered, GRACE over ──> done; the slot is free when c-ares is
 *
 * c-ares calls back from anywhere, also while it is asked; so callbacks only note what came, and
 * owners are told from the reactor, when c-ares has returned. A slot is held until c-ares has given
 * up too; its own time-outs add up to less than a look-up may take, unless there are many servers.
 */
#include "net/dns.h"

#include "core/file.h"
#include "core/log.h"
#include "core/pool.h"
#include "core/reactor.h"
#include "core/slab.h"
#include "net/nameservers.h"
#include "net/socket_ares.h"

#include <netinet/in.h>
#include <sodium.h>
#include <string.h>

enum {
	POOL = 1024 * 1024, /* address space: c-ares 1.18 uses 240 KB at most, 1.34 700 */
	TICK = 100,	    /* ms between looks at c-ares's clock while questions are out */
	GRACE = 300, /* ms that one family waits for the other; RFC 8305 3 wants more than none */
	RECHECK = 1000,	    /* ms between looks at resolv.conf */
	TRIES = 3,	    /* of each server; each round waits twice as long as the one before */
	TIMEOUT_PARTS = 14, /* so that two servers are given up after 2 (1 + 2 + 4) parts */
	TIMEOUT_LEAST = 50,
	RESOLV_CONF_MAX = 8192
};

/* Since 1.31; options.qcache_max_ttl 0: none, there is one in resolve.c. */
#ifdef ARES_OPT_QUERY_CACHE
enum { NO_QUERY_CACHE = ARES_OPT_QUERY_CACHE };
#else
enum { NO_QUERY_CACHE = 0 };
#endif

struct family {
	struct dns_ask *ask;
	bool out;	/* c-ares will call back */
	bool cancelled; /* by ourselves, to be asked elsewhere */
	uint16_t id;	/* of the question */
	struct dns_reply reply;
};

struct dns_ask {
	struct list link;	       /* in out or finished */
	struct dns_question *question; /* NULL when the owner left or was answered */
	uint64_t impatient;	       /* when to stop waiting for the other family; 0: not yet */
	uint64_t since;		       /* when this name was asked for */
	uint8_t share;
	uint8_t suffixes;	   /* of the search list, tried so far */
	struct family families[2]; /* A, AAAA */
	char name[ENDPOINT_NAME_MAX + 1];
};

static struct dns {
	ares_channel channel;
	struct pool pool;
	struct slab asks;
	struct list out, finished;
	uint16_t taken[DNS_SHARES]; /* slots, by share */
	struct timer tick;
	struct nameservers servers;
	const char *resolv_conf; /* NULL: the servers were given */
	struct file_stamp stamp;
	uint64_t checked;
	unsigned timeout; /* ms of the first round */
	bool switching, said_none;
	void (*room)(void);
} dns;

/* Apart: the reactor may still refer to them after dns_close(). */
static struct ares_sockets sockets;

/* c-ares's memory: its functions have no argument for an owner. */

static void *take_memory(size_t n)
{
	return pool_take(&dns.pool, n);
}

static void give_memory(void *piece)
{
	pool_give(&dns.pool, piece);
}

static void *resize_memory(void *piece, size_t n)
{
	return pool_resize(&dns.pool, piece, n);
}

/* Questions and answers */

static bool is_waiting(const struct dns_ask *ask)
{
	return ask->families[0].out || ask->families[1].out;
}

static bool is_found(const struct dns_ask *ask)
{
	return ask->families[0].reply.outcome == DNS_FOUND ||
	       ask->families[1].reply.outcome == DNS_FOUND;
}

static void note_end(struct dns_ask *ask)
{
	if (is_waiting(ask)) {
		if (is_found(ask) && ask->impatient == 0)
			ask->impatient = reactor_now() + GRACE;
		return;
	}
	list_remove(&ask->link);
	list_append(&dns.finished, &ask->link);
}

static enum dns_type type_of(const struct family *family)
{
	return family == &family->ask->families[0] ? DNS_A : DNS_AAAA;
}

static void send_question(struct family *family);

/* Where an answer is too long for a datagram c-ares asks over TCP, and waits for one round only. Is
 * it that which has ended, before the time of all rounds? The connection stays: to ask again, by
 * the same number, is to go on waiting. */
static bool is_early(const struct dns_ask *ask, int status)
{
	uint64_t rounds = (1u << TRIES) - 1;

	return status == ARES_ETIMEOUT && !dns.switching && ask->question != NULL &&
	       reactor_now() - ask->since < dns.timeout * rounds;
}

static void on_answer(void *data, int status, int timeouts, unsigned char *bytes, int n)
{
	struct family *family = data;

	(void)timeouts;
	if (is_early(family->ask, status)) {
		send_question(family);
		return;
	}
	family->out = false;
	family->reply = (struct dns_reply){ .outcome = DNS_FAILED };
	if (dns.switching) {
		family->cancelled = true;
		return;
	}
	if (status == ARES_SUCCESS && bytes != NULL && n > 0)
		dns_read_reply(&family->reply, bytes, (size_t)n, type_of(family));
	note_end(family->ask);
}

static void send_question(struct family *family)
{
	unsigned char message[DNS_QUESTION_MAX];
	size_t n = dns_write_question(message, family->id, family->ask->name, type_of(family));

	if (n > 0)
		ares_send(dns.channel, message, (int)n, on_answer, family);
	else
		on_answer(family, ARES_EBADNAME, 0, NULL, 0);
}

static void send_anew(struct family *family)
{
	family->id = (uint16_t)randombytes_uniform(UINT16_MAX + 1);
	send_question(family);
}

static void send_questions(struct dns_ask *ask)
{
	ask->since = reactor_now();
	for (unsigned i = 0; i < 2; i++)
		ask->families[i] = (struct family){ .ask = ask, .out = true };
	for (unsigned i = 0; i < 2; i++)
		send_anew(&ask->families[i]);
}

/* A name without a dot is tried as it is, then within each domain of the search list. */
static bool ask_with_suffix(struct dns_ask *ask)
{
	char *dot = strchr(ask->name, '.');
	size_t own = dot != NULL ? (size_t)(dot - ask->name) : strlen(ask->name);

	if (is_found(ask) || ask->question == NULL || (dot != NULL && ask->suffixes == 0))
		return false;
	while (ask->suffixes < dns.servers.suffix_count) {
		const char *suffix = dns.servers.suffixes[ask->suffixes++];
		size_t n = strlen(suffix);
		if (own + 1 + n >= sizeof(ask->name))
			continue;
		ask->name[own] = '.';
		memcpy(ask->name + own + 1, suffix, n + 1);
		send_questions(ask);
		return true;
	}
	return false;
}

const char *dns_suffix(unsigned i)
{
	return i < dns.servers.suffix_count ? dns.servers.suffixes[i] : NULL;
}

static void tell(struct dns_ask *ask, bool partial)
{
	struct dns_question *question = ask->question;
	struct dns_found found = {
		.v4 = &ask->families[0].reply,
		.v6 = &ask->families[1].reply,
		.partial = partial,
	};

	if (question == NULL)
		return;
	ask->question = NULL;
	question->ask = NULL;
	question->done(question, &found);
}

static struct dns_ask *next_impatient(void)
{
	for (struct list *at = dns.out.next; at != &dns.out; at = at->next) {
		struct dns_ask *ask = container_of(at, struct dns_ask, link);
		if (ask->question != NULL && ask->impatient != 0 && ask->impatient <= reactor_now())
			return ask;
	}
	return NULL;
}

static void arm(void)
{
	if (!list_empty(&dns.finished))
		reactor_after(&dns.tick, 0);
	else if (!list_empty(&dns.out) && !timer_pending(&dns.tick))
		reactor_after(&dns.tick, TICK);
}

/* Tell the owners; they may ask and leave meanwhile. */
static void deliver(void)
{
	bool freed = false;

	for (unsigned n = DNS_OUT_MAX; n > 0 && !list_empty(&dns.finished); n--) {
		struct dns_ask *ask = container_of(dns.finished.next, struct dns_ask, link);
		list_remove(&ask->link);
		list_append(&dns.out, &ask->link);
		if (ask_with_suffix(ask))
			continue;
		list_remove(&ask->link);
		tell(ask, false);
		dns.taken[ask->share]--;
		slab_give(&dns.asks, ask);
		freed = true;
	}
	if (freed)
		dns.room();
	arm();
}

/* Servers */

static void set_servers(void)
{
	struct ares_addr_port_node nodes[NAMESERVERS_MAX];

	memset(nodes, 0, sizeof(nodes));
	for (unsigned i = 0; i < dns.servers.count; i++) {
		const struct nameserver *server = &dns.servers.servers[i];
		bool v4 = server->address.family == 4;

		nodes[i].next = i + 1 < dns.servers.count ? &nodes[i + 1] : NULL;
		nodes[i].family = v4 ? AF_INET : AF_INET6;
		memcpy(&nodes[i].addr, server->address.ip, v4 ? 4 : 16);
		nodes[i].udp_port = nodes[i].tcp_port = server->port;
	}
	if (dns.servers.count > 0 && ares_set_servers_ports(dns.channel, nodes) != ARES_SUCCESS) {
		log_error("the name servers could not be set: out of memory for DNS");
		dns.servers.count = 0;
	}
}

static void read_resolv_conf(struct nameservers *servers)
{
	char text[RESOLV_CONF_MAX];
	ssize_t n = file_read(dns.resolv_conf, text, sizeof(text));

	nameservers_resolv_conf(servers, text, n > 0 ? (size_t)n : 0);
}

static void ask_again(struct dns_ask *ask)
{
	for (unsigned i = 0; i < 2; i++) {
		struct family *family = &ask->families[i];
		bool wanted = family->cancelled && ask->question != NULL && dns.servers.count > 0;

		family->cancelled = false;
		family->out = wanted;
		if (wanted)
			send_anew(family);
	}
	note_end(ask);
}

/* What is out is asked again: the old servers may never answer. */
static void switch_servers(const struct nameservers *servers)
{
	log_debug("%s has changed: %u name servers", dns.resolv_conf, servers->count);
	dns.switching = true;
	ares_cancel(dns.channel);
	dns.switching = false;
	memcpy(&dns.servers, servers, sizeof(dns.servers));
	dns.said_none = false;
	set_servers();

	struct list again;
	list_init(&again);
	while (!list_empty(&dns.out)) {
		struct list *link = dns.out.next;
		list_remove(link);
		list_append(&again, link);
	}
	while (!list_empty(&again)) {
		struct dns_ask *ask = container_of(again.next, struct dns_ask, link);
		list_remove(&ask->link);
		list_append(&dns.out, &ask->link);
		ask_again(ask);
	}
}

static void check_servers(void)
{
	struct nameservers servers;
	uint64_t now = reactor_now();

	if (dns.resolv_conf == NULL || now < dns.checked + RECHECK)
		return;
	dns.checked = now;
	if (!file_changed(dns.resolv_conf, &dns.stamp))
		return;
	read_resolv_conf(&servers);
	if (memcmp(&servers, &dns.servers, sizeof(servers)) != 0)
		switch_servers(&servers);
}

static void on_tick(struct timer *timer)
{
	struct dns_ask *ask;

	(void)timer;
	ares_process_fd(dns.channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	check_servers();
	while ((ask = next_impatient()) != NULL)
		tell(ask, true);
	deliver();
}

/* From outside */

/* Nobody gets more slots than stay free, so that there is always one for somebody else. What counts
 * is when c-ares gives a slot back, not when its owner was told. */
static bool may_take(uint8_t share)
{
	return share == 0 || dns.taken[share] < (dns.asks.max - dns.asks.live + 1) / 2;
}

enum dns_asked dns_ask(struct dns_question *question, const char *name, uint8_t share)
{
	check_servers();
	if (dns.servers.count == 0) {
		if (!dns.said_none)
			log_error("no name server in %s: names cannot be resolved; "
				  "give one with --nameserver",
				  dns.resolv_conf);
		dns.said_none = true;
		return DNS_NO_SERVER;
	}
	struct dns_ask *ask = may_take(share) ? slab_take(&dns.asks) : NULL;
	if (ask == NULL)
		return DNS_BUSY;
	dns.taken[share]++;
	ask->share = share;
	memcpy(ask->name, name, strnlen(name, ENDPOINT_NAME_MAX));
	ask->question = question;
	question->ask = ask;
	list_append(&dns.out, &ask->link);
	send_questions(ask);
	arm();
	return DNS_ASKED;
}

void dns_leave(struct dns_question *question)
{
	if (question->ask != NULL)
		question->ask->question = NULL;
	question->ask = NULL;
}

static int open_servers(const struct resolve_options *options)
{
	dns.resolv_conf = options->resolv_conf != NULL ? options->resolv_conf : "/etc/resolv.conf";
	if (options->servers == NULL) {
		file_changed(dns.resolv_conf, &dns.stamp);
		read_resolv_conf(&dns.servers);
		dns.checked = reactor_now();
		return 0;
	}
	dns.resolv_conf = NULL;
	if (nameservers_list(&dns.servers, options->servers) == 0)
		return 0;
	log_error("the name servers \"%s\" are not a list of ip[:port],...", options->servers);
	return -1;
}

static int open_channel(unsigned timeout_ms)
{
	unsigned timeout = timeout_ms / TIMEOUT_PARTS;

	dns.timeout = timeout > TIMEOUT_LEAST ? timeout : TIMEOUT_LEAST;
	struct ares_options options = {
		.timeout = (int)dns.timeout,
		.tries = TRIES,
		.ndots = 1,
		.lookups = (char *)(uintptr_t) "b",
		.sock_state_cb = ares_sockets_state,
		.sock_state_cb_data = &sockets,
	};
	/* Everything is set, so that c-ares need not look into files for it. */
	int given = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS |
		    ARES_OPT_SERVERS | ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_SORTLIST |
		    ARES_OPT_SOCK_STATE_CB | ARES_OPT_NOROTATE;

	if (ares_library_init_mem(ARES_LIB_INIT_ALL, take_memory, give_memory, resize_memory) !=
	    ARES_SUCCESS)
		return -1;
	if (ares_init_options(&dns.channel, &options, given | NO_QUERY_CACHE) != ARES_SUCCESS) {
		dns.channel = NULL;
		log_error("the resolver cannot start: no memory for DNS");
		return -1;
	}
	ares_sockets_attach(&sockets, dns.channel);
	set_servers();
	return 0;
}

int dns_open(const struct resolve_options *options, void (*room)(void))
{
	dns = (struct dns){ .room = room };
	list_init(&dns.out);
	list_init(&dns.finished);
	timer_init(&dns.tick, on_tick);
	ares_sockets_init(&sockets, deliver, options->mark);
	if (open_servers(options) < 0)
		return -1;
	if (pool_open(&dns.pool, POOL) < 0 ||
	    slab_open(&dns.asks, sizeof(struct dns_ask), DNS_OUT_MAX) < 0) {
		log_error("the resolver cannot start: no memory");
		return -1;
	}
	return open_channel(options->timeout_ms);
}

void dns_close(void)
{
	if (dns.room == NULL)
		return;
	if (dns.channel != NULL) {
		ares_destroy(dns.channel);
		ares_library_cleanup();
	}
	reactor_cancel(&dns.tick);
	slab_close(&dns.asks);
	pool_close(&dns.pool);
	dns = (struct dns){ 0 };
}
