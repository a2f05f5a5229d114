/*
 * What ss-manager does about a request. Called by the inbox, one request at a time; ports are bound
 * when the answer goes.
 */
#include "applets/manager.h"

#include "applets/secret.h"
#include "applets/servers.h"
#include "core/log.h"
#include "core/options.h"
#include "net/flow.h"
#include "net/users.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
	ITEM = FLOW_SCRATCH,
	TOLD = 500,	      /* ports a turn */
	USERS_ITEM = 32 << 10 /* bytes of users after which another item begins */
};

/* Items are put together in scratch memory. */
static char *item_room(void)
{
	return (char *)flow_scratch();
}

static void say(struct manager *m, const char *word)
{
	outbox_send(&m->inbox.outbox, m->asks, word, strlen(word));
}

static void send_part(void *to, const char *bytes, size_t n)
{
	struct manager *m = to;

	outbox_send(&m->inbox.outbox, m->asks, bytes, n);
}

static void say_result(struct manager *m, enum port_result result)
{
	static const char *const words[] = {
		[PORT_OK] = "ok",
		[PORT_TAKEN] = "port is not available",
		[PORT_FAILED] = "err",
	};

	say(m, words[result]);
}

/* --- changing something */

static void refuse(struct manager *m, const char *why)
{
	log_warn("a request is refused: %s", why);
	say(m, "err");
}

static void add(struct manager *m, const struct json *object)
{
	struct settings *settings = &m->applet->settings;
	struct options_reason reason;
	struct settings_place place;

	if (settings_read_place(settings, &place, object, &reason) < 0) {
		refuse(m, reason.text);
		return;
	}
	if (servers_wants(m, &place))
		servers_put(m, &place, false, m->asks);
	else
		say_result(m, ports_put(m->ports, &place, false));
	settings_free_place(settings, &place);
}

static void remove_port(struct manager *m, const struct json *object)
{
	uint16_t number = request_port(object);

	if (!number) {
		refuse(m, "it needs a server_port from 1 to 65535");
		return;
	}
	servers_remove(m, number);
	say(m, "ok");
}

static const char elsewhere[] =
	"this port has a server of its own: add it again with the users it is to have";
static const char without_users[] =
	"this port has no users but whoever has its key: add it again with those it is to have";

static void add_user(struct manager *m, const struct json *object)
{
	const char *name = request_text(object, "name"), *text = request_text(object, "password");
	struct port *port = m->ports->all[request_port(object)];
	unsigned char key[WIRE_KEY_MAX] = { 0 };
	struct options_reason reason;

	if (!port || !name || !text) {
		refuse(m, "it needs the server_port of a port that is there, name and password");
	} else if (port->server) {
		refuse(m, elsewhere);
	} else if (!port->service.key.users) {
		refuse(m, without_users);
	} else if (secret_psk(port->method, text, strlen(text), key, &reason) < 0) {
		refuse(m, reason.text);
	} else if (!sodium_memcmp(key, port->service.key.key, port->service.key.key_len)) {
		refuse(m, "a user cannot have the key of the port itself");
	} else {
		say_result(m, ports_add_user(m->ports, port->number, name, key));
	}
	sodium_memzero(key, sizeof key);
}

static void remove_user(struct manager *m, const struct json *object)
{
	const char *name = request_text(object, "name");
	uint16_t number = request_port(object);
	const struct port *port = m->ports->all[number];

	if (!name)
		refuse(m, "it needs a server_port and a name");
	else if (port && port->server)
		refuse(m, elsewhere);
	else if (port && !port->service.key.users)
		refuse(m, without_users);
	else
		say_result(m, ports_remove_user(m->ports, number, name));
}

static void report(struct manager *m, const struct json *object)
{
	uint64_t bytes;
	uint16_t number;

	if (request_report(object, &number, &bytes) == 0)
		servers_report(m, number, bytes);
}

/* --- telling something */

static void list_port(struct manager *m, const struct port *port)
{
	char *item = item_room();
	size_t n;

	n = (size_t)snprintf(item, ITEM, "{\"server_port\":\"%u\",\"password\":", port->number);
	n += json_quote(item + n, ITEM - n, port->password, strlen(port->password));
	if (n < ITEM)
		n += (size_t)snprintf(item + n, ITEM - n, ",\"method\":\"%s\"}",
				      port->method->name);
	reply_add(&m->reply, item, n);
	sodium_memzero(item, n < ITEM ? n : ITEM);
}

static void ping_port(struct manager *m, const struct port *port)
{
	const struct traffic *traffic = tally_of(m->tally, port->number);
	char item[40];

	reply_add(&m->reply, item,
		  (size_t)snprintf(item, sizeof item, "\"%u\":%" PRIu64, port->number,
				   traffic->up + traffic->down));
}

static int by_address(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct address));
}

/* How many addresses clients have now. Room for them is the scratch memory. */
static unsigned count_clients(const struct manager *m, const struct port *port)
{
	struct address *all = (void *)flow_scratch();
	unsigned n, different = 0;

	n = engine_clients(&m->applet->engine, &port->service, all, FLOW_SCRATCH / sizeof *all);
	qsort(all, n, sizeof *all, by_address);
	for (unsigned i = 0; i < n; i++)
		different += i == 0 || by_address(&all[i], &all[i - 1]) != 0;
	return different;
}

static size_t print_port(const struct manager *m, const struct port *port, char *item)
{
	static const char *const modes[] = { "tcp_only", "tcp_and_udp", "udp_only" };
	const struct traffic *traffic = tally_of(m->tally, port->number);
	unsigned clients = count_clients(m, port);

	return (size_t)snprintf(item, ITEM,
				"{\"port\":%u,\"method\":\"%s\",\"mode\":\"%s\",\"up\":%" PRIu64
				",\"down\":%" PRIu64
				",\"connections\":%u,\"associations\":%u,\"clients\":%u",
				port->number, port->method->name, modes[port->mode], traffic->up,
				traffic->down, port->service.sessions, port->service.assocs,
				clients);
}

static size_t print_user(const struct user *user, char *item, size_t room)
{
	size_t n = (size_t)snprintf(item, room, "{\"name\":");

	n += json_quote(item + n, room - n, user->name, strlen(user->name));
	n += (size_t)snprintf(item + n, room - n, ",\"up\":%" PRIu64 ",\"down\":%" PRIu64 "}",
			      user->up + user->live.up, user->down + user->live.down);
	return n;
}

/* A port whose users are many takes several items, of which only the first has more than users. */
static void tell_port(struct manager *m, const struct port *port)
{
	const struct users *users = port->service.key.users;
	char *item = item_room();
	size_t n = print_port(m, port, item), count = users ? users_count(users) : 0;

	if (users)
		engine_count_live(&m->applet->engine, &port->service);
	for (size_t i = 0; i < count; i++) {
		n += (size_t)snprintf(item + n, ITEM - n, "%s",
				      item[n - 1] == '}' ? "," : ",\"users\":[");
		n += print_user(users_at(users, i), item + n, ITEM - n);
		if (i + 1 < count && n < USERS_ITEM)
			continue;
		n += (size_t)snprintf(item + n, ITEM - n, "]");
		if (i + 1 == count)
			break;
		n += (size_t)snprintf(item + n, ITEM - n, "}");
		reply_add(&m->reply, item, n);
		n = (size_t)snprintf(item, ITEM, "{\"port\":%u", port->number);
	}
	n += (size_t)snprintf(item + n, ITEM - n, "}");
	reply_add(&m->reply, item, n);
}

static const struct {
	const struct reply_form *form;
	void (*port)(struct manager *, const struct port *);
} lists[] = {
	[REQUEST_LIST] = { &reply_list, list_port },
	[REQUEST_PING] = { &reply_ping, ping_port },
	[REQUEST_STATS] = { &reply_stats, tell_port },
};

/* To find out about the clients of a port, all that is alive is gone through: as much work as
 * telling of so many ports. */
static unsigned work(const struct manager *m, enum request_kind kind, const struct port *port)
{
	const struct engine *engine = &m->applet->engine;

	if (kind != REQUEST_STATS || port->service.sessions + port->service.assocs == 0)
		return 0;
	return (engine->sessions.live + engine->assocs.live) / 16;
}

/* Tell of some ports more. True: of all that there are. */
static bool tell(struct manager *m, enum request_kind kind)
{
	unsigned told = 0;

	for (; m->next < 1 << 16 && told < TOLD; m->next++) {
		const struct port *port = m->ports->all[m->next];

		if (!port || (m->only && m->only != m->next))
			continue;
		lists[kind].port(m, port);
		told += 1 + work(m, kind, port);
	}
	if (m->next < 1 << 16)
		return false;
	reply_end(&m->reply);
	m->next = 0;
	return true;
}

static void begin_telling(struct manager *m, const struct request *request)
{
	m->next = 1;
	m->only = request->kind == REQUEST_STATS ? request_port(request->document.root) : 0;
	reply_begin(&m->reply, lists[request->kind].form, send_part, m);
}

/* --- the way in */

static void bad(struct manager *m, const struct json *object)
{
	(void)object;
	refuse(m, "it needs an object");
}

static void (*const acts[])(struct manager *, const struct json *) = {
	[REQUEST_BAD] = bad,	 [REQUEST_ADD] = add,		[REQUEST_REMOVE] = remove_port,
	[REQUEST_STAT] = report, [REQUEST_ADD_USER] = add_user, [REQUEST_REMOVE_USER] = remove_user,
};

bool manager_take(struct inbox *inbox, const struct sender *sender, const char *bytes, size_t n)
{
	struct manager *m = container_of(inbox, struct manager, inbox);
	struct request request;
	bool done = true;

	m->asks = sender;
	request_read(&request, bytes, n);
	if (request.kind < sizeof lists / sizeof lists[0] && lists[request.kind].form) {
		if (m->next == 0)
			begin_telling(m, &request);
		done = tell(m, request.kind);
	} else if (request.kind < sizeof acts / sizeof acts[0] && acts[request.kind]) {
		acts[request.kind](m, request.document.root);
	}
	request_free(&request);
	return done;
}
