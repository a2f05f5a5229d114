/*
 * Access control lists: a file of names, patterns and networks, and what it says about a target or
 * a client. The file is read once, at start or on a reload, into tables; look-ups allocate nothing
 * and wait for nothing. The grammar is in acl_read.c and ss-acl(5). [no I/O] but reading the file.
 *
 * Whoever opens a list owns it. Services borrow it: they ask within one turn of the reactor and
 * keep no pointer into it, so that on a reload the owner opens the new list, gives it to every
 * service and closes the old one at once. A look-up uses scratch memory of the list: one thread.
 *
 * Both questions about a target are asked in two steps. First with `resolved` NULL: what is known
 * by the name. ACL_BY_ADDRESS says that the file has networks which may decide: resolve the name
 * and ask again with an address, which gives a final answer. A target that is an address, or a name
 * that spells one, never needs the second step, nor does any name if the file has no networks.
 *
 * Inside, everything is compared in one form: names without case and final dot, IPv4-mapped IPv6
 * as IPv4. 0.0.0.0 and :: lead to this host and are, besides themselves, also 127.0.0.1 and ::1;
 * and what NAT64 translates (64:ff9b::/96) is also the IPv4 address that it leads to.
 */
#ifndef NET_ACL_H
#define NET_ACL_H

#include "net/endpoint.h"

enum { ACL_REASON_MAX = 400 };

enum acl_verdict {
	ACL_BY_ADDRESS, /* the name does not decide: ask again with an address of it */
	ACL_PROXY,
	ACL_DIRECT,
	ACL_ALLOW,
	ACL_REFUSE
};

struct acl;

/* Read a file. NULL with one sentence if it is missing, is no text, has a section that is not
 * known, or a rule in [outbound_block_list] that cannot be understood. Such a rule elsewhere is
 * left out, with a warning in the log that names its line. */
struct acl *acl_open(const char *path, char reason[ACL_REASON_MAX]);

/* The same, but each warning is a sentence for `tell`, not for the log, which would count the last
 * ones of many. */
struct acl *acl_open_telling(const char *path, void (*tell)(const char *sentence),
			     char reason[ACL_REASON_MAX]);

/* acl_open() for text; `path` names it in messages. */
struct acl *acl_read(const char *path, const char *text, size_t n, char reason[ACL_REASON_MAX]);

void acl_close(struct acl *acl); /* NULL is fine */

/* In the answers below *line (unless `line` is NULL) is the line of the rule that decided, or 0:
 * the default did. */

/*
 * Where a client (local, redir) sends a target, as shadowsocks-libev does: ACL_PROXY, ACL_DIRECT or
 * ACL_BY_ADDRESS. A name on the black list (bypass) goes direct, else one on the white list goes to
 * the proxy. Else its address decides, the first one, as it is the one to be dialled: on the black
 * list direct, on the white list proxy, else the default ([proxy_all] or [bypass_all]). A name that
 * cannot be resolved goes to the proxy, whatever was said here.
 */
enum acl_verdict acl_target(const struct acl *acl, const struct endpoint *target,
			    const struct address *resolved, unsigned *line);

/*
 * Whether a server may connect, or send, to a target: ACL_ALLOW, ACL_REFUSE or ACL_BY_ADDRESS.
 * Refused is what [outbound_block_list] holds, by name or by address: only addresses that were
 * allowed here may be dialled, so ask for each. Else what [outbound_allow_list] holds is allowed,
 * else the default counts ([outbound_allow_all] or [outbound_block_all]).
 */
enum acl_verdict acl_outbound(const struct acl *acl, const struct endpoint *target,
			      const struct address *resolved, unsigned *line);

/*
 * Whether a server serves a client of this address: ACL_ALLOW or ACL_REFUSE. Refused are addresses
 * on the black list, and in white-list mode ([reject_all]) all that are not on the white list.
 */
enum acl_verdict acl_client(const struct acl *acl, const struct address *client, unsigned *line);

/* How many rules of each kind there are: for people. */
struct acl_counts {
	unsigned names, patterns, networks; /* patterns: what needs more than the tables */
	unsigned inactive;		    /* not understood */
	bool no_bytes;			    /* the file is empty */
};
struct acl_counts acl_count(const struct acl *acl);

#endif
