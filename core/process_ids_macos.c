/*
 * The ids of a process, on macOS, which does not tell the saved ones; process_user() tries whether
 * there is a way back. Root sets all three at once.
 */
#include "core/process.h"

#include <unistd.h>

bool process_is(uid_t uid, gid_t gid)
{
	return getuid() == uid && geteuid() == uid && getgid() == gid && getegid() == gid;
}

int process_become(uid_t uid, gid_t gid)
{
	return setgid(gid) < 0 || setuid(uid) < 0 ? -1 : 0;
}
