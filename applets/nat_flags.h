/*
 * What ss nat is asked for: its flags, which are those of shadowsocks-libev's ss-nat and some of
 * our own, and what the configuration of ss-redir says. Read by nat.c.
 */
#ifndef APPLETS_NAT_FLAGS_H
#define APPLETS_NAT_FLAGS_H

#include "applets/nat.h"
#include "applets/settings.h"
#include "core/options.h"

enum { NAT_NAMED = 64 /* servers */ };

enum nat_action { NAT_UNSAID, NAT_APPLY, NAT_REMOVE };
enum nat_udp { NAT_NO_UDP, NAT_UDP, NAT_UDP_ELSEWHERE };

/* Zeroed to begin with. */
struct nat_request {
	struct nat_plan plan;
	char *config;
	struct endpoint servers[NAT_NAMED]; /* addresses or names */
	unsigned server_count;
	uint16_t tcp_port, udp_port; /* -l, -L */
	bool udp_server;	     /* -S was given */
	bool print;
	uint8_t udp;	/* enum nat_udp */
	uint8_t action; /* enum nat_action */
	uint8_t tool;	/* enum nat_tool + 1; 0: what there is */
};

/* Read flags (argv[0] is skipped): 0, or -1 with the reason. */
int nat_flags(struct nat_request *request, int argc, char **argv, struct options_reason *reason);

/* Read flags from one text, which name no action: 0, or -1 with the reason. */
int nat_flags_text(struct nat_request *request, const char *text, struct options_reason *reason);

/* Take ports, mark and servers from the settings of ss-redir where flags have said nothing. */
void nat_take_settings(struct nat_request *request, const struct settings *settings);

/* Make the plan whole, except the addresses of names. 0, or -1 with a sentence. */
int nat_complete(struct nat_request *request, char *why, size_t n);

void nat_usage(FILE *to);
void nat_forget(struct nat_request *request);

#endif
