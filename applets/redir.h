/*
 * What ss-redir and the rules of the kernel that lead traffic to it (ss-nat) agree upon.
 */
#ifndef APPLETS_REDIR_H
#define APPLETS_REDIR_H

enum {
	/* Of every socket that ss-redir opens, also those that answer in a target's name, unless
	 * `fwmark` says another: rules pass over it. */
	REDIR_MARK = 0x53530000,

	/* What rules put on packets that are to come to ss-redir, by REDIRECT or by TPROXY. */
	REDIR_MARK_REDIRECT = 0x53530001,
	REDIR_MARK_TPROXY = 0x53530002,

	/* The routing table that brings the latter in, and the rank of the rule that says so. */
	REDIR_TABLE = 153
};

#endif
