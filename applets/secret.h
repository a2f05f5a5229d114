/*
 * From what the user gave as a secret to the key: password, key in base64url, or the environment.
 */
#ifndef APPLETS_SECRET_H
#define APPLETS_SECRET_H

#include "core/options.h"

struct settings;

/* If neither flags nor file have a password or key: take SS_PASSWORD, or the first line of the
 * file * that PASSWORD_FILE names. The variable is wiped, so that children do not inherit it. 0,
 * or -1 with * the reason. */
int secret_from_environment(struct settings *settings, struct options_reason *reason);

/* Fill settings->key from raw.key or raw.password for settings->method. 0, or -1 with the reason,
 * after a * bad key is answered with a fresh one in the log. */
int secret_to_key(struct settings *settings, struct options_reason *reason);

#endif
