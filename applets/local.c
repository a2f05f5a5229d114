/*
 * ss-local: a SOCKS5 server (RFC 1928, RFC 1929) in front of shadowsocks servers.
 *
 *     GREETING ──> LOGIN ──> REQUEST ──> the target is known
 *         └── no users ───────^
 *
 * CONNECT is answered with success before the server is connected, as shadowsocks-libev does: the
 * application's first payload then travels together with the address.
 */
#include "applets/applet.h"
#include "core/log.h"
#include "net/control.h"
#include "net/datagram.h"
#include "net/handshake.h"
#include "net/session.h"
#include "net/socks.h"

#include <sodium.h>
#include <string.h>

enum phase { GREETING, LOGIN, REQUEST, ASSOCIATE, KNOWN };

static const struct settings *settings_of(const struct session *s)
{
	return s->service->own;
}

static enum step refuse(struct session *s, const char *what)
{
	char peer[ENDPOINT_TEXT];

	s->why = WHY_REFUSED;
	log_peer(LOG_KIND_REFUSED, "%s: %s", session_peer(s, peer, sizeof(peer)), what);
	return FAIL;
}

/* Answer why the request cannot be served, then refuse. */
static enum step refuse_request(struct session *s, enum socks_reply reply, const char *what)
{
	unsigned char answer[SOCKS_REPLY_MAX];

	handshake_answer(s, answer, socks_write_reply(answer, reply, NULL));
	return refuse(s, what);
}

static enum step greet(struct session *s)
{
	enum socks_method wanted = settings_of(s)->socks_auths ? SOCKS_PASSWORD : SOCKS_NO_AUTH,
			  method;
	int used = socks_read_greeting(s->shake, s->shake_len, wanted, &method);

	if (used == 0)
		return WAIT;
	if (used < 0)
		return refuse(s, "not SOCKS5");
	handshake_use(s, (size_t)used);

	const unsigned char answer[] = { 5, (unsigned char)method };

	if (handshake_answer(s, answer, sizeof(answer)) == FAIL)
		return FAIL;
	if (method == SOCKS_NONE)
		return refuse(s, "offers no acceptable way to log in");
	s->socks = method == SOCKS_PASSWORD ? LOGIN : REQUEST;
	return DONE;
}

/* Constant time for fields of the right length. */
static bool field_is(const char *expected, const unsigned char *given, size_t n)
{
	return strlen(expected) == n && sodium_memcmp(expected, given, n) == 0;
}

static bool is_user(const struct settings *settings, const struct socks_login *login)
{
	unsigned found = 0;

	for (unsigned i = 0; i < settings->socks_auths; i++) {
		const struct settings_login *user = &settings->socks_auth[i];

		found += (unsigned)field_is(user->user, login->user, login->user_len) &
			 (unsigned)field_is(user->password, login->password, login->password_len);
	}
	return found > 0;
}

static enum step log_in(struct session *s)
{
	struct socks_login login;
	int used = socks_read_login(s->shake, s->shake_len, &login);

	if (used == 0)
		return WAIT;

	bool ok = used > 0 && is_user(settings_of(s), &login);
	const unsigned char answer[] = { 1, !ok };

	if (used > 0) {
		sodium_memzero(s->shake, (size_t)used);
		handshake_use(s, (size_t)used);
	}
	if (handshake_answer(s, answer, sizeof(answer)) == FAIL)
		return FAIL;
	s->socks = REQUEST;
	return ok ? DONE : refuse(s, "login refused");
}

/* The worker that has the datagrams answers, and attends to the connection. */
static enum step give_away(struct session *s)
{
	if (handover_give(s->service, s->near.fd, ASSOCIATE) < 0)
		return refuse_request(s, SOCKS_FAILURE, "UDP ASSOCIATE, but there is no room");
	s->why = WHY_PASSED;
	return FAIL;
}

/* The client may send its datagrams to the address that it has reached, at the same port. What
 * it says about where they will come from is often wrong behind NAT, and not needed. */
static enum step associate(struct session *s)
{
	struct controls *controls = &s->service->engine->controls;
	unsigned char answer[SOCKS_REPLY_MAX];
	struct sockaddr_storage name;
	struct endpoint bound;

	if (s->service->datagram_count == 0)
		return refuse_request(s, SOCKS_BAD_COMMAND, "UDP ASSOCIATE, but UDP is off");
	if (handover_is_elsewhere(s->service))
		return give_away(s);
	if (socket_name(s->near.fd, &name))
		s->control = control_join(controls, &s->peer);
	if (!s->control)
		return refuse_request(s, SOCKS_FAILURE, "UDP ASSOCIATE, but there is no room");
	endpoint_from_socket(&bound, (struct sockaddr *)&name);
	session_trust(s);
	return handshake_answer(s, answer, socks_write_reply(answer, SOCKS_OK, &bound)) == DONE
		       ? STAY
		       : FAIL;
}

static enum step request(struct session *s)
{
	unsigned char answer[SOCKS_REPLY_MAX];
	enum socks_reply reply;
	unsigned command;
	int used = socks_read_request(s->shake, s->shake_len, &command, &s->target, &reply);

	if (used == 0)
		return WAIT;
	if (used < 0)
		return refuse(s, "not a SOCKS5 request");
	handshake_use(s, (size_t)used);
	if (command == SOCKS_ASSOCIATE)
		return associate(s);
	if (command != SOCKS_CONNECT)
		return refuse_request(s, SOCKS_BAD_COMMAND, "SOCKS5 command not supported");
	if (reply != SOCKS_OK)
		return refuse_request(s, reply, "SOCKS5 address not supported");
	s->socks = KNOWN;
	session_trust(s);
	return handshake_answer(s, answer, socks_write_reply(answer, SOCKS_OK, NULL));
}

/* Bytes that the present message may need; what follows a request must fit into session->early. */
static size_t limit(const struct session *s)
{
	size_t need = 0;

	if (s->socks == LOGIN && s->shake_len >= 2) {
		size_t user = 2u + s->shake[1];

		need = s->shake_len > user ? user + 1 + s->shake[user] : 0;
	}
	return need > SESSION_EARLY ? need : SESSION_EARLY;
}

static enum step learn_target(struct session *s)
{
	static enum step (*const phases[])(struct session *) = {
		[GREETING] = greet, [LOGIN] = log_in, [REQUEST] = request, [ASSOCIATE] = associate
	};

	for (;;) {
		enum step step = phases[s->socks](s);

		if (step == DONE && s->socks == KNOWN)
			return DONE;
		if (step == WAIT)
			step = handshake_read(s, limit(s));
		if (step != DONE)
			return step;
	}
}

/* Where logins are asked for, UDP is for addresses that have logged in. */
static bool datagram_target(struct service *service, const struct datagram *piece,
			    unsigned char **bytes, size_t *n, struct endpoint *target)
{
	const struct settings *settings = service->own;
	int head = socks_read_datagram(*bytes, *n, target);
	struct address from;

	if (head < 0)
		return false;
	if (settings->socks_auths) {
		address_from_socket(&from, &piece->from.any);
		if (!control_exists(&service->engine->controls, &from))
			return false;
	}
	*bytes += head;
	*n -= (size_t)head;
	return true;
}

static size_t datagram_dress(const struct endpoint *source, unsigned char *to)
{
	return socks_write_datagram(to, source);
}

static const struct role local_role = {
	.name = "ss-local",
	.target = learn_target,
	.near_sealed = false,
	.datagram_target = datagram_target,
	.datagram_dress = datagram_dress,
};

int local_main(int argc, char **argv)
{
	static const struct applet_kind kind = {
		.program = PROGRAM_LOCAL,
		.role = &local_role,
		.listening = "listening at",
		.listening_udp = "UDP relay enabled at",
		.configure = client_configure,
		.listen_on = client_listen_on,
	};

	return applet_run(&kind, argc, argv);
}
