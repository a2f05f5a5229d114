/*
 * Where and with which keys: what must be there of each place, and what is made of it once all has
 * been read. Called by settings_read.c; the keys it makes belong to struct settings.
 */
#include "applets/settings.h"

#include "applets/secret.h"
#include "applets/settings_table.h"
#include "applets/settings_value.h"
#include "core/log.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static int fail(struct options_reason *reason,
						      enum options_why why, const char *format, ...)
{
	va_list args;

	reason->why = why;
	va_start(args, format);
	vsnprintf(reason->text, sizeof reason->text, format, args);
	va_end(args);
	return -1;
}

/* Say in front of the reason what it is about. */
__attribute__((format(printf, 2, 3))) static int concerns(struct options_reason *reason,
							  const char *format, ...)
{
	char why[OPTION_REASON_MAX];
	va_list args;
	size_t n;

	memcpy(why, reason->text, sizeof why);
	va_start(args, format);
	vsnprintf(reason->text, sizeof why / 2, format, args);
	va_end(args);
	n = strlen(reason->text);
	snprintf(reason->text + n, sizeof why - n, ": %.*s", (int)(sizeof why - n - 3), why);
	return -1;
}

/* --- which places there are */

static bool top_counts(const struct settings *s)
{
	return s->top.servers || !s->element_count;
}

const struct settings_place *settings_place(const struct settings *s, unsigned i)
{
	if (top_counts(s) && i-- == 0)
		return &s->top;
	for (unsigned e = 0; e < s->element_count; e++) {
		if (!s->elements[e].disabled && i-- == 0)
			return &s->elements[e];
	}
	return NULL;
}

/* To work on them while they are being filled in. */
static struct settings_place *place_at(struct settings *s, unsigned i)
{
	return (struct settings_place *)settings_place(s, i);
}

/* --- what must be there */

static bool has_ports(const struct settings_place *place)
{
	bool all = place->servers;

	for (unsigned i = 0; i < place->servers; i++)
		all = all && place->server[i].port;
	return all || place->server_port;
}

static bool lacks_secret(const struct settings_place *place)
{
	return !place->password && !place->key_text && secret_family(place->method) != SECRET_NONE;
}

/* The sentence for something that is missing, in shadowsocks-libev's words; or NULL. */
static const char *missing(const struct settings *s, const struct settings_place *place)
{
	if ((s->program & PROGRAM_CLIENTS) && !place->servers)
		return "remote_num is 0: no server is given (-s, key 'server')";
	if ((s->program & PROGRAM_RELAYS) && !has_ports(place))
		return "remote_port is NULL: no server port is given (-p, key 'server_port')";
	if ((s->program & PROGRAM_CLIENTS) && !s->raw.local_port && !s->local.port)
		return "local_port is NULL: no local port is given (-l, key 'local_port')";
	if ((s->program & PROGRAM_TUNNEL) && !s->tunnel.type)
		return "tunnel_addr is NULL: no target is given (-L, key 'tunnel_address')";
	if ((s->program & PROGRAM_RELAYS) && lacks_secret(place))
		return "both password and key are NULL: give one (-k, --key, their keys, "
		       "SS_PASSWORD or PASSWORD_FILE)";
	return NULL;
}

/* Elements have what they lack from the top level, but not its password: who puts a key into a file
 * with many means one place by it. */
static void inherit(struct settings *s)
{
	for (unsigned i = 0; i < s->element_count; i++) {
		if (!s->elements[i].method)
			s->elements[i].method = s->top.method;
		if (!s->elements[i].server_port)
			s->elements[i].server_port = s->top.server_port;
	}
}

int places_complete(struct settings *s, struct options_reason *reason)
{
	inherit(s);
	if (!settings_place(s, 0))
		return fail(reason, OPTIONS_FATAL, "all servers are disabled");
	for (unsigned i = 0; settings_place(s, i); i++) {
		const struct settings_place *place = settings_place(s, i);
		const char *lacks = missing(s, place);

		if (lacks && place == &s->top)
			return fail(reason, OPTIONS_USAGE, "%s", lacks);
		if (lacks) {
			fail(reason, OPTIONS_FATAL, "%s", lacks);
			return concerns(reason, "servers[%u]", (unsigned)(place - s->elements));
		}
	}
	return 0;
}

/* --- what follows */

static void fill_servers(struct settings_place *place)
{
	if (!place->servers)
		endpoint_parse(&place->server[place->servers++], "0.0.0.0", 0);
	for (unsigned i = 0; i < place->servers; i++) {
		if (!place->server[i].port)
			place->server[i].port = place->server_port;
	}
}

static bool is_salted(const struct settings_place *place)
{
	return place->key.format && secret_family(place->method) >= SECRET_SIP004;
}

/* How a client's requests look, into the key. False if nothing of it suits this method. */
static void dress_key(const struct settings *s, struct settings_place *place)
{
	if (is_salted(place)) {
		memcpy(place->key.prefix, s->prefix, s->prefix_len);
		place->key.prefix_len = s->prefix_len;
		place->key.printable_salt = s->printable_salt;
	}
	if (s->padded && secret_family(place->method) == SECRET_SIP022) {
		place->key.padding_min = s->padding_min;
		place->key.padding_max = s->padding_max;
	}
}

/* Whoever asks for a look must get it, or hear that it cannot be. */
static int check_looks(const struct settings *s, struct options_reason *reason)
{
	bool salted = false, padded = false;

	for (unsigned i = 0; settings_place(s, i); i++) {
		const struct settings_place *place = settings_place(s, i);

		salted |= is_salted(place);
		padded |= secret_family(place->method) == SECRET_SIP022;
		if (is_salted(place) && s->prefix_len > place->key.salt_len / 2)
			return fail(reason, OPTIONS_FATAL,
				    "key 'prefix' may have %d bytes at most with %s, half of its "
				    "salt, not %d",
				    place->key.salt_len / 2, place->method->name, s->prefix_len);
	}
	if ((s->prefix_len || s->printable_salt) && !salted)
		return fail(reason, OPTIONS_FATAL,
			    "%s: only AEAD and 2022 methods have salts, %s has none",
			    s->prefix_len ? "key 'prefix'" : "printable_salt",
			    settings_place(s, 0)->method->name);
	if (s->padded && !padded)
		return fail(reason, OPTIONS_FATAL, "padding: only 2022 methods have it, not %s",
			    settings_place(s, 0)->method->name);
	return 0;
}

/* --- users */

static int by_name(const void *a, const void *b)
{
	const struct settings_user *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int by_key(const void *a, const void *b)
{
	const struct settings_user *const *x = a, *const *y = b;

	return memcmp((*x)->key, (*y)->key, WIRE_KEY_MAX);
}

/* Sorted, those that are alike stand side by side. */
static int find_doubles(const struct settings_user **sorted, unsigned n,
			int (*order)(const void *, const void *), struct options_reason *reason)
{
	qsort(sorted, n, sizeof *sorted, order);
	for (unsigned i = 1; i < n; i++) {
		if (order(&sorted[i - 1], &sorted[i]))
			continue;
		if (order == by_name)
			return fail(reason, OPTIONS_FATAL, "there are two users named '%.80s'",
				    sorted[i]->name);
		bool turned = sorted[i - 1] > sorted[i]; /* name them as the file does */

		return fail(reason, OPTIONS_FATAL, "users '%.80s' and '%.80s' have the same key",
			    sorted[i - !turned]->name, sorted[i - turned]->name);
	}
	return 0;
}

static int check_doubles(const struct settings_place *place, struct options_reason *reason)
{
	const struct settings_user **sorted = malloc(place->user_count * sizeof *sorted);
	int result;

	if (!sorted)
		return fail(reason, OPTIONS_FATAL, "the users do not fit into memory");
	for (unsigned i = 0; i < place->user_count; i++)
		sorted[i] = &place->users[i];
	result = find_doubles(sorted, place->user_count, by_name, reason) < 0 ||
		 find_doubles(sorted, place->user_count, by_key, reason) < 0;
	free(sorted);
	return result ? -1 : 0;
}

/* The keys of users, whose method and server's key these are. */
static int make_users(struct settings_place *place, const struct wire_method *method,
		      const struct wire_key *key, struct options_reason *reason)
{
	if (!place->users)
		return 0;
	if (!secret_has_users(method))
		return fail(reason, OPTIONS_FATAL,
			    "%s has no users: only the AES methods of 2022 have", method->name);
	for (unsigned i = 0; i < place->user_count; i++) {
		struct settings_user *user = &place->users[i];

		if (secret_psk(method, user->password, strlen(user->password), user->key, reason) <
		    0)
			return concerns(reason, "user '%.60s'", user->name);
		if (!sodium_memcmp(user->key, key->key, key->key_len))
			return fail(reason, OPTIONS_FATAL,
				    "user '%.80s' has the key of the server itself", user->name);
	}
	return check_doubles(place, reason);
}

/* --- the ways in */

static int finish(struct settings *s, struct settings_place *place, struct options_reason *reason)
{
	bool server = s->program & (PROGRAM_SERVER | PROGRAM_MANAGER);

	fill_servers(place);
	if (lacks_secret(place))
		return 0; /* the manager's ports have their own */
	if (secret_make(&place->key, place->method, place->password, place->key_text, server,
			reason) < 0 ||
	    make_users(place, place->method, &place->key, reason) < 0)
		return -1;
	dress_key(s, place);
	return 0;
}

int places_finish(struct settings *s, struct options_reason *reason)
{
	for (unsigned i = 0; settings_place(s, i); i++) {
		struct settings_place *place = place_at(s, i);

		if (finish(s, place, reason) < 0)
			return place == &s->top ? -1
						: concerns(reason, "servers[%u]",
							   (unsigned)(place - s->elements));
	}
	return check_looks(s, reason);
}

static void forget(char **text)
{
	if (*text)
		sodium_memzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

static void forget_texts(struct settings_place *place)
{
	forget(&place->password);
	forget(&place->key_text);
	for (unsigned i = 0; i < place->user_count; i++)
		forget(&place->users[i].password);
}

void places_forget(struct settings *s)
{
	forget_texts(&s->top);
	for (unsigned i = 0; i < s->element_count; i++)
		forget_texts(&s->elements[i]);
}

/* --- users again */

/* May the users of `fresh` follow those of `place`? */
static int check_users(const struct settings_place *place, struct settings_place *fresh,
		       struct options_reason *reason)
{
	if (!place->users != !fresh->users)
		return fail(reason, OPTIONS_FATAL, "%s: that takes a new start",
			    place->users ? "there are no users any more"
					 : "there were no users when the program was started");
	return make_users(fresh, place->method, &place->key, reason);
}

static void exchange_users(struct settings_place *a, struct settings_place *b)
{
	struct settings_user *users = a->users;
	unsigned count = a->user_count;

	a->users = b->users;
	a->user_count = b->user_count;
	b->users = users;
	b->user_count = count;
}

int places_exchange_users(struct settings *s, struct settings *fresh, struct options_reason *reason)
{
	if (s->element_count && s->element_count != fresh->element_count)
		return fail(reason, OPTIONS_FATAL,
			    "'servers' had %u elements and has %u now: that takes a new start",
			    s->element_count, fresh->element_count);
	if (check_users(&s->top, &fresh->top, reason) < 0)
		return -1;
	for (unsigned i = 0; i < s->element_count; i++) {
		if (check_users(&s->elements[i], &fresh->elements[i], reason) < 0)
			return concerns(reason, "servers[%u]", i);
	}
	exchange_users(&s->top, &fresh->top);
	for (unsigned i = 0; i < s->element_count; i++)
		exchange_users(&s->elements[i], &fresh->elements[i]);
	return 0;
}

/* --- what is to be said */

void settings_announce(const struct settings *s)
{
	const struct wire_method *worst[2] = { NULL, NULL };

	for (unsigned i = 0; settings_place(s, i); i++) {
		const struct wire_method *method = settings_place(s, i)->method;
		enum secret_family family = secret_family(method);

		if (i == 0 || method != settings_place(s, i - 1)->method)
			log_info("initializing ciphers... %s", method->name);
		if (family <= SECRET_STREAM && !worst[family])
			worst[family] = method;
	}
	if (worst[SECRET_STREAM])
		log_warn("%s is not safe: it has no integrity, so that whoever records a "
			 "connection can have the server decrypt it (redirect attack); use an "
			 "AEAD or a 2022 method",
			 worst[SECRET_STREAM]->name);
	if (worst[SECRET_NONE])
		log_error("NOTHING IS ENCRYPTED: with the method %s everybody on the way reads "
			  "and changes everything, and everybody may use the server",
			  worst[SECRET_NONE]->name);
}
