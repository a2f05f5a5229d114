/*
 * The ids of a process, all three of a kind. For Linux and the BSDs.
 */
#include "core/process.h"

#include <unistd.h>

bool process_is(uid_t uid, gid_t gid)
{
	uid_t u[3];
	gid_t g[3];

	if (getresuid(&u[0], &u[1], &u[2]) < 0 || getresgid(&g[0], &g[1], &g[2]) < 0)
		return false;
	for (int i = 0; i < 3; i++) {
		if (u[i] != uid || g[i] != gid)
			return false;
	}
	return true;
}

int process_become(uid_t uid, gid_t gid)
{
	return setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0 ? -1 : 0;
}
