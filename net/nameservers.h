/*
 * Which name servers to ask: a list as it is given with -d, or the text of resolv.conf. No I/O.
 */
#ifndef NET_NAMESERVERS_H
#define NET_NAMESERVERS_H

#include "net/endpoint.h"

enum { NAMESERVERS_MAX = 8, SUFFIXES_MAX = 6, NAMESERVER_PORT = 53 };

struct nameserver {
	struct address address;
	uint16_t port;
};

struct nameservers {
	uint8_t count, suffix_count;
	struct nameserver servers[NAMESERVERS_MAX];
	char suffixes[SUFFIXES_MAX][ENDPOINT_NAME_MAX + 1]; /* for names without a dot */
};

/* "ip[:port],...": 0, or -1 malformed. Further ones than the maximum are left out. */
int nameservers_list(struct nameservers *to, const char *text);

/* The lines "nameserver", "search" and "domain"; what else there is, and servers that cannot be
 * asked here (addresses with a zone), are passed over. */
void nameservers_resolv_conf(struct nameservers *to, const char *text, size_t n);

#endif
