/*
 * Secrets at start. Called by settings.c; every copy made here is wiped here.
 */
#include "applets/secret.h"

#include "applets/settings.h"
#include "core/log.h"
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

static int password_file(struct settings *s, const char *path, struct options_reason *reason)
{
	char line[SECRET_FILE_MAX];
	ssize_t n = first_line(path, line, sizeof line);

	if (n < 0)
		return fail(reason, "PASSWORD_FILE: %.200s: %s", path, strerror(errno));
	if (n == 0)
		return fail(reason, "PASSWORD_FILE: %.200s has no password in its first line",
			    path);
	s->raw.password = strdup(line);
	sodium_memzero(line, sizeof line);
	return s->raw.password ? 0 : fail(reason, "the password does not fit into memory");
}

int secret_from_environment(struct settings *s, struct options_reason *reason)
{
	char *password = getenv("SS_PASSWORD"), *path = getenv("PASSWORD_FILE");
	bool wanted = !s->raw.password && !s->raw.key;

	if (password) {
		if (wanted && *password) {
			s->raw.password = strdup(password);
			if (!s->raw.password)
				return fail(reason, "the password does not fit into memory");
			wanted = false;
		}
		sodium_memzero(password, strlen(password));
		unsetenv("SS_PASSWORD");
	}
	return wanted && path && *path ? password_file(s, path, reason) : 0;
}

/* What the user might use instead of a bad key. */
static void suggest(size_t n)
{
	unsigned char fresh[WIRE_KEY_MAX];
	char text[sodium_base64_ENCODED_LEN(WIRE_KEY_MAX, sodium_base64_VARIANT_URLSAFE)];

	randombytes_buf(fresh, n);
	sodium_bin2base64(text, sizeof text, fresh, n, sodium_base64_VARIANT_URLSAFE);
	log_error("here is a fresh random key of the right length: %s", text);
	sodium_memzero(fresh, sizeof fresh);
	sodium_memzero(text, sizeof text);
}

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

int secret_to_key(struct settings *s, struct options_reason *reason)
{
	size_t n = wire_key_len(s->method);

	if (s->raw.key) {
		if (decode(s->raw.key, s->key, n) < 0) {
			suggest(n);
			return fail(
				reason,
				"the key is not base64url of at least %zu bytes, which %s needs", n,
				s->method->name);
		}
		if (s->raw.password)
			log_warn("both a key and a password are given: the key is used");
	} else if (s->raw.password) {
		kdf_password(s->raw.password, strlen(s->raw.password), s->key, n);
	} else {
		return 0;
	}
	s->key_len = n;
	return 0;
}
