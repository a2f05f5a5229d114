/*
 * What ss-redir and the rules of the kernel that lead traffic to it (ss-nat) agree upon.
 */
#ifndef APPLETS_REDIR_H
#define APPLETS_REDIR_H

enum {
	/* Of what ss-redir sends to servers, unless `fwmark` says another, and of its answers in a
	 * target's name, whatever that says, since it may be meant for routing: rules pass over
	 * it. */
	REDIR_MARK = 0x53530000,

	/* What rules put on packets that are to come to ss-redir, by REDIRECT or by TPROXY. */
	REDIR_MARK_REDIRECT = 0x53530001,
	REDIR_MARK_TPROXY = 0x53530002,

	/* The routing table that brings the latter in, and the rank of the rule that says so. */
	REDIR_TABLE = 153
};

#endif
