/*
 * Between settings.c, which has the table, and settings_read.c, which reads by it.
 */
#ifndef APPLETS_SETTINGS_TABLE_H
#define APPLETS_SETTINGS_TABLE_H

#include "applets/settings.h"
#include "core/options.h"

#ifndef SS_VERSION
#define SS_VERSION "unknown"
#endif

enum {
	PROGRAM_CLIENTS = PROGRAM_LOCAL | PROGRAM_TUNNEL | PROGRAM_REDIR,
	PROGRAM_RELAYS = PROGRAM_CLIENTS | PROGRAM_SERVER,
	PROGRAM_ALL = PROGRAM_RELAYS | PROGRAM_MANAGER
};

/* The table, ready to fill *settings, whose program is set. `reason` may be NULL if nothing is
 * read. */
struct options settings_options(struct settings *settings, struct options_reason *reason);

/* The table of what an element of `servers` may have, ready to fill *place. */
struct options settings_element(struct settings_place *place, enum program program,
				struct options_reason *reason);

/* The same of an element of `tunnels`. */
struct options settings_tunnel(struct settings_tunnel *tunnel, enum program program,
			       struct options_reason *reason);

/* settings_reason.c: fill *reason: -1. Then say in front of it whose that is; and in front of all
 * where in the file it stands, and which element of `servers` the place is: -1. */
__attribute__((format(printf, 3, 4))) int settings_fail(struct options_reason *reason,
							enum options_why why, const char *format,
							...);
__attribute__((format(printf, 2, 3))) void settings_about(struct options_reason *reason,
							  const char *format, ...);
int settings_concerns(const struct settings *settings, const struct settings_place *place,
		      const struct settings_spot *at, struct options_reason *reason);

/* The same file: whether to go on after a fault, as options_told() says of one in the file. And
 * take steps, up to NULL, going on in this way: 0, or -1. */
bool settings_told(const struct settings *settings, struct options_reason *reason);
typedef int (*settings_step)(struct settings *settings, struct options_reason *reason);
int settings_steps(struct settings *settings, const settings_step *steps,
		   struct options_reason *reason);

/* settings_read.c: the path from the root, of malloc(); of NULL: NULL. `path` is freed if it is
 * another. */
char *settings_absolute(char *path);

/* settings_places.c: look whether all is there that the program cannot do without, elements of
 * `servers` take what they lack from the top level; then make the keys of places and users; then
 * wipe the texts they were made of. 0, or -1 with the reason. */
int places_complete(struct settings *settings, struct options_reason *reason);
int places_finish(struct settings *settings, struct options_reason *reason);
void places_forget(struct settings *settings);

/* settings_users.c: make the keys of the users of a place of `settings`, by the method and the
 * server's key. 0, or -1 with the reason. */
int places_make_users(const struct settings *settings, struct settings_place *place,
		      const struct wire_method *method, const struct wire_key *key,
		      struct options_reason *reason);

/* Swap the users of all places for those of `fresh`, which was read and no more: 0, or -1 with the
 * reason, and nothing is changed. */
int places_exchange_users(struct settings *settings, struct settings *fresh,
			  struct options_reason *reason);

/* settings_tunnels.c: give flags that were copied lists of their own; make of what was read the
 * tunnels that there are, once it is known where to listen. 0, or -1, with the reason if it is not
 * NULL. */
int tunnels_own(struct settings *settings);
int tunnels_complete(struct settings *settings, struct options_reason *reason);

/* settings_changes.c: what makes two places the same: where, how, and with which key; and the
 * places in that order, twins in that of the file: their number. */
int places_compare(const struct settings_place *a, const struct settings_place *b);
unsigned places_sort(const struct settings *settings, const struct settings_place **sorted);
/* Swap the places of a program that serves for those of `fresh`, noting which are the same. 0, or
 * -1 with the reason, and nothing is changed. */
int places_exchange(struct settings *settings, struct settings *fresh,
		    struct options_reason *reason);

/* Of a manager: swap the ports. */
void places_exchange_ports(struct settings *settings, struct settings *fresh);

/* settings_read.c: read a file into what `options` fills, noting in *prints (unless NULL) what it
 * says, while the program serves if `again`; then look whether all is there, and make of it what
 * the program needs. 0, or -1 with the reason. */
struct prints;
int settings_read_file(struct options *options, const char *path, struct prints *prints,
		       bool again);
int settings_check(struct settings *settings, struct options_reason *reason);

/* settings_reload.c: remember what the flags have said, before a file is read; and that the secret
 * did not come from it. 0, or -1 with the reason. */
int settings_remember(struct settings *settings, const struct options *options,
		      struct options_reason *reason);
void settings_secret_elsewhere(struct settings *settings);
struct prints *settings_prints(struct settings *settings);
void settings_forget_start(struct settings *settings);

/* settings_prints.c: keyed hashes of what a file says, by which a later one is compared with it:
 * secrets are not kept for that. */
enum { PRINT_HASH = 20, /* HMAC-SHA1 */ PRINT_NAME = 96 };

struct print {
	char name[PRINT_NAME]; /* "method", "servers[2].method" */
	unsigned char hash[PRINT_HASH];
};

struct prints {
	struct print *all;
	unsigned count;
	unsigned char key[32];
};

/* Note what `root` says about what these options read, but for places and users. 0, or -1: no
 * memory. */
int prints_take(struct prints *prints, const struct options *options, const struct json *root);

/* The names of what differs, separated by commas, cut: how many there are. */
unsigned prints_compare(const struct prints *old, const struct prints *fresh, char *names,
			size_t size);
void prints_free(struct prints *prints);

/* What every program starts from. */
void settings_defaults(struct settings *settings, enum program program);

#endif
