/*
 * From what the user gave as a secret to a key: a password, a key in base64, a chain of keys, or
 * the environment. How they are written depends on the family of the method; the sentences that
 * say what is wrong never hold the secret.
 */
#ifndef APPLETS_SECRET_H
#define APPLETS_SECRET_H

#include "net/wire.h"

#include <stdbool.h>
#include <stddef.h>

struct options_reason;
struct settings_place;

enum secret_family {
	SECRET_NONE,   /* nothing is encrypted, nothing needs to be given */
	SECRET_STREAM, /* a password, or a key in base64url */
	SECRET_SIP004, /* the same */
	SECRET_SIP022  /* a key in base64, or a chain of them */
};

enum { SECRET_TEXT = 45 }; /* bytes of a key in base64 with its NUL */

enum secret_family secret_family(const struct wire_method *method);

/* True if clients of this method can be told apart (SIP023). */
bool secret_has_users(const struct wire_method *method);

/* The first line of a file, of malloc(), into *password, whose old text is wiped. 0, or -1 with
 * errno: ENOMSG if there is nothing in it. */
int secret_read_file(const char *path, char **password);

/* If neither flags nor file have a password or key: take SS_PASSWORD, or the first line of the
 * file that PASSWORD_FILE names. The variable is wiped, so that children do not inherit it. 0,
 * or -1 with the reason. */
int secret_from_environment(struct settings_place *place, struct options_reason *reason);

/* Make *key from what was given for `method`: `text`, the key itself, wins over `password`; NULL
 * where there is none, but SIP022 takes either. Only clients (`server` false) may have a chain,
 * which is allocated. 0, or -1 with the reason (which has a fresh key in it, where the family is
 * old). */
int secret_make(struct wire_key *key, const struct wire_method *method, const char *password,
		const char *text, bool server, struct options_reason *reason);

/* One key of SIP022 from text[0..n), which is base64 of exactly the right length: 0, or -1 with
 * the reason. `bytes` has WIRE_KEY_MAX. */
int secret_psk(const struct wire_method *method, const char *text, size_t n, unsigned char *bytes,
	       struct options_reason *reason);

/* A fresh key, written as the method's family takes it. */
void secret_fresh(const struct wire_method *method, char text[SECRET_TEXT]);

/* A key of its own, with what hangs on it: 0, or -1: no memory. */
int secret_copy(struct wire_key *to, const struct wire_key *from);

/* Wipe a key that secret_make() or secret_copy() has made, and its chain. */
void secret_forget(struct wire_key *key);

#endif
