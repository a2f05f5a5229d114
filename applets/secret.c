/*
 * Secrets at start. Called while settings are read, and by ss-key; every copy made here is wiped
 * here.
 */
#include "applets/secret.h"

#include "applets/settings.h"
#include "core/log.h"
#include "core/options.h"
#include "crypto/kdf.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECRET_FILE_MAX = 4096 };

__attribute__((format(printf, 2, 3))) static int fail(struct options_reason *reason,
						      const char *format, ...)
{
	va_list args;

	reason->why = OPTIONS_FATAL;
	va_start(args, format);
	vsnprintf(reason->text, sizeof reason->text, format, args);
	va_end(args);
	return -1;
}

/* The first line of a file: its length, or -1 with errno. */
static ssize_t first_line(const char *path, char *to, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	n = read(fd, to, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	to[n] = 0;
	to[strcspn(to, "\r\n")] = 0;
	return (ssize_t)strlen(to);
}

int secret_read_file(const char *path, char **password)
{
	char line[SECRET_FILE_MAX], *copy;
	ssize_t n = first_line(path, line, sizeof line);

	if (n == 0)
		errno = ENOMSG;
	if (n <= 0)
		return -1;
	copy = strdup(line);
	sodium_memzero(line, sizeof line);
	if (!copy)
		return -1;
	if (*password)
		sodium_memzero(*password, strlen(*password));
	free(*password);
	*password = copy;
	return 0;
}

static int password_file(struct settings_place *place, const char *path,
			 struct options_reason *reason)
{
	if (secret_read_file(path, &place->password) == 0)
		return 0;
	if (errno == ENOMSG)
		return fail(reason, "PASSWORD_FILE: %.200s has no password in its first line",
			    path);
	return fail(reason, "PASSWORD_FILE: %.200s: %s", path, strerror(errno));
}

int secret_from_environment(struct settings_place *place, struct options_reason *reason)
{
	char *password = getenv("SS_PASSWORD"), *path = getenv("PASSWORD_FILE");
	bool wanted = !place->password && !place->key_text;

	if (password) {
		if (wanted && *password) {
			place->password = strdup(password);
			if (!place->password)
				return fail(reason, "the password does not fit into memory");
			wanted = false;
		}
		sodium_memzero(password, strlen(password));
		unsetenv("SS_PASSWORD");
	}
	return wanted && path && *path ? password_file(place, path, reason) : 0;
}

/* --- families */

enum secret_family secret_family(const struct wire_method *method)
{
	if (!strcmp(method->name, "none"))
		return SECRET_NONE;
	if (!strncmp(method->name, "2022-", 5))
		return SECRET_SIP022;
	return method->format == &wire_aead ? SECRET_SIP004 : SECRET_STREAM;
}

bool secret_has_users(const struct wire_method *method)
{
	return secret_family(method) == SECRET_SIP022 && !strncmp(method->cipher, "aes-", 4);
}

void secret_fresh(const struct wire_method *method, char text[SECRET_TEXT])
{
	unsigned char fresh[WIRE_KEY_MAX];
	size_t n = wire_key_len(method);

	randombytes_buf(fresh, n);
	sodium_bin2base64(text, SECRET_TEXT, fresh, n,
			  secret_family(method) == SECRET_SIP022 ? sodium_base64_VARIANT_ORIGINAL
								 : sodium_base64_VARIANT_URLSAFE);
	sodium_memzero(fresh, sizeof fresh);
}

/* --- stream ciphers and SIP004 */

/* Base64url with or without padding, of at least n bytes, the first of which count: 0, or -1. */
static int decode(const char *text, unsigned char *key, size_t n)
{
	size_t length = strlen(text), room = length + 1, got = 0;
	unsigned char *bytes = malloc(room);
	int result = -1;

	if (!bytes)
		return -1;
	while (length && text[length - 1] == '=')
		length--;
	if (sodium_base642bin(bytes, room, text, length, NULL, &got, NULL,
			      sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
	    got >= n) {
		memcpy(key, bytes, n);
		result = 0;
	}
	sodium_memzero(bytes, room);
	free(bytes);
	return result;
}

static int bad_key(const struct wire_method *method, struct options_reason *reason)
{
	char text[SECRET_TEXT];

	secret_fresh(method, text);
	fail(reason,
	     "the key is not base64url of at least %zu bytes, which %s needs; here is a fresh "
	     "random key of the right length: %s",
	     wire_key_len(method), method->name, text);
	sodium_memzero(text, sizeof text);
	return -1;
}

static int make_old(struct wire_key *key, const struct wire_method *method, const char *password,
		    const char *text, struct options_reason *reason)
{
	unsigned char bytes[WIRE_KEY_MAX];
	size_t n = wire_key_len(method);
	int made;

	if (text && decode(text, bytes, n) < 0)
		return bad_key(method, reason);
	if (!text)
		kdf_password(password, strlen(password), bytes, n);
	made = wire_key_set(key, method, bytes);
	sodium_memzero(bytes, sizeof bytes);
	return made < 0 ? fail(reason, "the key does not fit into memory") : 0;
}

/* --- SIP022 */

static int bad_psk(const struct wire_method *method, struct options_reason *reason,
		   const char *format, size_t given)
{
	char what[80];
	size_t n = wire_key_len(method);

	snprintf(what, sizeof what, format, given);
	return fail(reason,
		    "the key of %s must be %zu random bytes in base64 (%zu characters), %s; make "
		    "one with: shadowsocks key %s",
		    method->name, n, (n + 2) / 3 * 4, what, method->name);
}

int secret_psk(const struct wire_method *method, const char *text, size_t n, unsigned char *bytes,
	       struct options_reason *reason)
{
	enum { PSK_TEXT_MAX = 4096 };
	unsigned char raw[PSK_TEXT_MAX];
	size_t plain = n, got;

	while (plain && n - plain < 2 && text[plain - 1] == '=')
		plain--;
	if (n > PSK_TEXT_MAX)
		return bad_psk(method, reason, "not %zu characters", n);
	if (memchr(text, '-', n) || memchr(text, '_', n))
		return bad_psk(method, reason,
			       "in the alphabet with '+' and '/', not with '-' and '_'", 0);
	if ((plain != n && n % 4) ||
	    sodium_base642bin(raw, sizeof raw, text, plain, NULL, &got, NULL,
			      sodium_base64_VARIANT_ORIGINAL_NO_PADDING) != 0) {
		sodium_memzero(raw, sizeof raw);
		return bad_psk(method, reason, "which this is not", 0);
	}
	if (got == wire_key_len(method))
		memcpy(bytes, raw, got);
	sodium_memzero(raw, sizeof raw);
	return got == wire_key_len(method) ? 0 : bad_psk(method, reason, "not %zu bytes", got);
}

/* The keys before the last, to chain[0..n). */
static int read_chain(struct wire_identity *chain, unsigned n, const char *text,
		      const struct wire_method *method, struct options_reason *reason)
{
	for (unsigned i = 0; i < n; i++) {
		size_t length = strcspn(text, ":");

		if (secret_psk(method, text, length, chain[i].key, reason) < 0)
			return -1;
		text += length + 1;
	}
	return 0;
}

static unsigned colons(const char *text)
{
	unsigned n = 0;

	while ((text = strchr(text, ':')))
		text++, n++;
	return n;
}

static int check_chain(const struct wire_method *method, unsigned n, bool server,
		       struct options_reason *reason)
{
	if (n && server)
		return fail(reason,
			    "a server of %s has one key: chains are for clients, and the "
			    "keys of clients belong under 'users'",
			    method->name);
	if (n && !secret_has_users(method))
		return fail(reason,
			    "%s has no users, so its key cannot be a chain: only the AES "
			    "methods of 2022 have",
			    method->name);
	if (n > WIRE_IDENTITIES)
		return fail(reason, "a chain may have %d keys at most before the last, not %u",
			    WIRE_IDENTITIES, n);
	return 0;
}

/* The last key, and the chain before it where n > 0. */
static int set_psk(struct wire_key *key, const struct wire_method *method, const char *last,
		   struct wire_identity *chain, unsigned n, struct options_reason *reason)
{
	unsigned char bytes[WIRE_KEY_MAX];
	int made;

	if (secret_psk(method, last, strlen(last), bytes, reason) < 0)
		return -1;
	made = wire_key_set(key, method, bytes);
	sodium_memzero(bytes, sizeof bytes);
	if (made < 0)
		return fail(reason, "the key does not fit into memory");
	if (n)
		wire_key_chain(key, chain, n);
	return 0;
}

static int make_psk(struct wire_key *key, const struct wire_method *method, const char *text,
		    bool server, struct options_reason *reason)
{
	unsigned n = colons(text);
	const char *last = n ? strrchr(text, ':') + 1 : text;
	struct wire_identity *chain = NULL;

	if (check_chain(method, n, server, reason) < 0)
		return -1;
	if (n && !(chain = calloc(n, sizeof *chain)))
		return fail(reason, "the chain of keys does not fit into memory");
	if (read_chain(chain, n, text, method, reason) < 0 ||
	    set_psk(key, method, last, chain, n, reason) < 0) {
		if (chain)
			sodium_memzero(chain, n * sizeof *chain);
		free(chain);
		return -1;
	}
	return 0;
}

/* --- the ways in */

static int make(struct wire_key *key, const struct wire_method *method, const char *password,
		const char *text, bool server, struct options_reason *reason)
{
	switch (secret_family(method)) {
	case SECRET_SIP022:
		return make_psk(key, method, text ? text : password, server, reason);
	case SECRET_NONE:
		return make_old(key, method, password ? password : "", NULL, reason);
	default:
		return make_old(key, method, password, text, reason);
	}
}

int secret_make(struct wire_key *key, const struct wire_method *method, const char *password,
		const char *text, bool server, struct options_reason *reason)
{
	if (text && password)
		log_warn("both a key and a password are given: the key is used");
	if (make(key, method, password, text, server, reason) < 0)
		return -1;
	key->server = server;
	return 0;
}

static void *copy(const void *from, size_t n)
{
	void *own = malloc(n ? n : 1);

	return own ? memcpy(own, from, n) : NULL;
}

int secret_copy(struct wire_key *to, const struct wire_key *from)
{
	*to = *from;
	if (from->identities)
		to->identities =
			copy(from->identities, from->identity_count * sizeof *from->identities);
	if (from->schedule)
		to->schedule = copy(from->schedule, stream_schedule(from->stream));
	if (!from->identities == !to->identities && !from->schedule == !to->schedule)
		return 0;
	secret_forget(to);
	return -1;
}

void secret_forget(struct wire_key *key)
{
	if (key->identities)
		sodium_memzero(key->identities, key->identity_count * sizeof *key->identities);
	free(key->identities);
	wire_key_wipe(key);
}
