/*
 * What the applets share: their main functions for the table in ss.c, and the common life of the
 * ones that serve (applet.c).
 */
#ifndef APPLETS_APPLET_H
#define APPLETS_APPLET_H

#include "applets/settings.h"
#include "net/service.h"

int local_main(int argc, char **argv);
int server_main(int argc, char **argv);
int tunnel_main(int argc, char **argv);
int redir_main(int argc, char **argv);
int manager_main(int argc, char **argv);
int ctl_main(int argc, char **argv);
int key_main(int argc, char **argv);
int check_main(int argc, char **argv);
int url_main(int argc, char **argv);
int nat_main(int argc, char **argv);
int acl_main(int argc, char **argv);
int ping_main(int argc, char **argv);

/* What makes an applet that serves. */
struct applet_kind {
	enum program program;
	const struct role *role;
	/* The words before the address in the lines that tools look for. */
	const char *listening, *listening_udp;

	/* How many services there are: one for each place of a server, each tunnel, each port of
	 * ss-redir. NULL: one. */
	unsigned (*count)(const struct settings *settings);

	/* How many it would like to have, if nobody says anything else; 0: no wish. */
	unsigned long descriptors;

	/* Copy from the settings what only this applet uses, for the i-th service. */
	void (*configure)(struct service *service, const struct settings *settings, unsigned i);

	/* The users in the settings are others now; NULL: there are none. */
	void (*reload)(struct service *const *services, const struct settings *settings);

	/* The addresses that the i-th service, which is configured, listens on; their number. */
	unsigned (*listen_on)(const struct service *service, const struct settings *settings,
			      unsigned i, const struct endpoint **at);

	/* Free what configure() has allocated; NULL: nothing. */
	void (*forget)(struct service *service);
};

/* What ss-local and its like have in common: an upstream for each address of each place, one
 * address to listen on. */
struct upstreams *client_upstreams(const struct settings *settings); /* NULL: no memory */
void client_forget_upstreams(struct upstreams *upstreams);
void client_configure(struct service *service, const struct settings *settings, unsigned i);
unsigned client_listen_on(const struct service *service, const struct settings *settings,
			  unsigned i, const struct endpoint **at);

/* Read the settings, bind, drop privileges, serve until told to stop. The exit status. */
int applet_run(const struct applet_kind *kind, int argc, char **argv);

#endif
