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
#include "net/handshake.h"
#include "net/session.h"
#include "net/socks.h"

#include <sodium.h>
#include <string.h>

enum phase { GREETING, LOGIN, REQUEST, KNOWN };

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
	enum socks_method wanted = settings_of(s)->socks_auths ? SOCKS_PASSWORD : SOCKS_NO_AUTH, method;
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
		[GREETING] = greet, [LOGIN] = log_in, [REQUEST] = request
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

static const struct role local_role = {
	.name = "ss-local",
	.target = learn_target,
	.near_sealed = false,
};

/* Each address of each place is an upstream, with the key of its place. */
static void configure(struct service *service, const struct settings *settings, unsigned only)
{
	struct upstreams *upstreams = &service->upstreams;
	const struct settings_place *place;

	(void)only;
	for (unsigned i = 0; (place = settings_place(settings, i)); i++) {
		for (unsigned j = 0; j < place->servers; j++) {
			if (upstreams->count == UPSTREAMS_MAX) {
				log_warn("%d servers at most, the rest is ignored", UPSTREAMS_MAX);
				return;
			}
			upstreams->all[upstreams->count++] = (struct upstream){
				.where = place->server[j],
				.key = place->key,
			};
		}
	}
}

static unsigned listen_on(const struct settings *settings, unsigned only, const struct endpoint **at)
{
	(void)only;
	*at = &settings->local;
	return 1;
}

int local_main(int argc, char **argv)
{
	static const struct applet_kind kind = {
		.program = PROGRAM_LOCAL,
		.role = &local_role,
		.listening = "listening at",
		.configure = configure,
		.listen_on = listen_on,
	};

	return applet_run(&kind, argc, argv);
}
