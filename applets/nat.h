/*
 * ss nat: rules of the Linux kernel that lead the traffic of a network to ss-redir, as text for
 * nft or for iptables-restore and ip. What is to be proxied is decided in one place, before the
 * kernel routes, and noted as a mark; everything else acts on marks:
 *
 *	mangle, prerouting and output	who? whereto? ── not to be proxied: no mark
 *	                                  │
 *	                                  ├─ REDIR_MARK_REDIRECT ──> nat: redirect to the port
 *	                                  └─ REDIR_MARK_TPROXY ────> table 153: to this machine,
 *	                                                             mangle, prerouting: to the port
 *	postrouting: what has a mark and leaves, though it should have come in, is dropped
 *
 * So nothing that is to be proxied leaves unproxied, whatever else is missing: the program (its
 * port is closed: TCP is refused, UDP dropped), the routing rule, or the kernel's notion of the
 * connection.
 */
#ifndef APPLETS_NAT_H
#define APPLETS_NAT_H

#include "net/endpoint.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { NAT_INTERFACES = 16, NAT_INTERFACE_NAME = 16 };

struct nat_cidr {
	struct address address;
	uint8_t bits;
};

struct nat_list {
	struct nat_cidr *all;
	unsigned count, room;
};

enum nat_kind {
	NAT_SERVERS, /* never proxied: it would never end */
	NAT_PROXIED, /* proxied, even if the next says not */
	NAT_BYPASSED,
	NAT_PRIVATE, /* what even NAT_WHOLE reach directly; empty if there are none of these */
	/* of the network, by source address: never proxied; proxied (see enum nat_who); proxied
	 * whatever the lists above say of the target, but for NAT_SERVERS and NAT_PRIVATE */
	NAT_SPARED,
	NAT_SOURCES,
	NAT_WHOLE,
	NAT_LISTS
};

/* Whose traffic is proxied: everybody's but NAT_SPARED, or that of NAT_SOURCES and NAT_WHOLE
 * alone. */
enum nat_who { NAT_EVERYBODY, NAT_ONLY };

/* What the rules are to do. */
struct nat_plan {
	struct nat_list lists[NAT_LISTS];
	char interfaces[NAT_INTERFACES][NAT_INTERFACE_NAME]; /* traffic comes in by these; */
	unsigned interface_count;			     /* 0: by any */
	uint16_t tcp_port, udp_port;			     /* of ss-redir; 0: not proxied */
	bool tproxy;					     /* TCP too */
	bool output;					     /* what this machine itself sends: */
	bool output_tcp;				     /* of it, TCP alone */
	bool output_all;  /* to all targets but NAT_BYPASSED, even if listed_only */
	bool listed_only; /* of all targets only NAT_PROXIED, less NAT_BYPASSED */
	bool ipv4_only;
	uint8_t who;   /* enum nat_who */
	unsigned mark; /* of what ss-redir sends to servers; REDIR_MARK is spared anyway */
	char *extra;   /* conditions of iptables; NULL: none */
	char *nft_tcp, *nft_udp; /* of nft, for each protocol; NULL: none */
	unsigned owner;		 /* the process whose rules they are; 0: nobody's in particular */
};

/* The owner's number, which no packet meets: the name of a chain, or the last rule of one. */
#define NAT_OWNER "owner_%u"
#define NAT_OWNER_RULE "SS_NAT_FWD -m mark --mark %u -j RETURN"

/* Lists (nat_list.c). Add an address or CIDR: 0, or -1 if it is none; all words of a text, which
 * may be separated by commas: NULL, or the first word (in `text`) that is none; each line of a
 * file, where # begins a comment: 0, or -1 with file:line and a sentence in `why`. They die if
 * there is no memory. */
int nat_list_add(struct nat_list *list, const char *text);
const char *nat_list_words(struct nat_list *list, const char *text);
int nat_list_file(struct nat_list *list, const char *path, char *why, size_t n);
void nat_list_address(struct nat_list *list, const struct address *address);

/* Sort it, without what another entry covers. */
void nat_list_merge(struct nat_list *list);
void nat_list_free(struct nat_list *list);

/* The networks that are nobody's or one's own. */
void nat_list_private(struct nat_list *list);

/* "192.0.2.0/24"; returns `to`, which has NAT_CIDR_TEXT bytes. */
enum { NAT_CIDR_TEXT = 64 };
const char *nat_cidr_print(const struct nat_cidr *cidr, char *to);

/* The rules (nat_nft.c, nat_iptables.c) [no I/O]: text that replaces, at once, what is there of
 * ours; or that removes it, also if nothing is there. Lists are merged. family: 4 or 6. */
void nat_nft_write(FILE *to, const struct nat_plan *plan);
void nat_nft_remove(FILE *to);
void nat_iptables_write(FILE *to, const struct nat_plan *plan, int family);
void nat_iptables_remove(FILE *to);

/* Where iptables' own chains lead to ours. NULL after the last. */
struct nat_hook {
	const char *table, *chain, *ours;
};
const struct nat_hook *nat_iptables_hook(unsigned i);

/* What to do about a plan, in steps (nat_steps.c). */
enum nat_tool { NAT_NFT, NAT_IPTABLES };

/* nft, or iptables where there is no nft. -1: neither, with a sentence in `why`. */
int nat_find_tool(char *why, size_t n);

/* Whether this kernel has IPv6. */
bool nat_ipv6(void);

/* Put the rules in place, in the stead of what is there of ours; take them away, also if they are
 * not there; or print a script that does so (plan NULL: the latter). 0, or -1 with a sentence,
 * which ends with the words of the program that failed, in `why`. */
int nat_apply(enum nat_tool tool, const struct nat_plan *plan, char *why, size_t n);
int nat_remove(enum nat_tool tool, char *why, size_t n);
int nat_print(FILE *to, enum nat_tool tool, const struct nat_plan *plan, char *why, size_t n);

/* Whether what is in place is not that owner's: it was taken away meanwhile, or another has put its
 * own in its stead. */
bool nat_is_lost(enum nat_tool tool, unsigned owner);

#endif
