/*
 * Users and their groups, from /etc/passwd and /etc/group themselves: a static glibc cannot ask
 * the name service switch. Reads files and nothing else; core/process.c acts on it.
 */
#ifndef CORE_ACCOUNT_H
#define CORE_ACCOUNT_H

#include <stddef.h>
#include <sys/types.h>

enum { ACCOUNT_GROUPS = 256 };

struct account {
	uid_t uid;
	gid_t gid;
	size_t n_groups;
	gid_t groups[ACCOUNT_GROUPS]; /* gid first, then where the user is a member */
};

/* Find the user called `who`, or with the number `who`. A number without an entry is a user whose
 * only group has the same number: an empty root has no files. 0; -1: nobody, or a file cannot be
 * read to its end; -2: more groups than fit, the account is filled with as many as do. Allocates
 * while it reads. */
int account_find(struct account *account, const char *who, const char *passwd, const char *group);

/* The home directory of the user with this number, allocated; NULL: there is no entry, or it cannot
 * be read. */
char *account_home(uid_t uid, const char *passwd);

#endif
