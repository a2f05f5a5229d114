/*
 * What the BSDs and macOS have instead of core/shared_linux.c. FreeBSD has robust mutexes, macOS
 * has none: one process serves on all of them.
 */
#include "core/shared.h"

#include <errno.h>

int shared_among_several(struct shared_mutex *shared)
{
	(void)shared;
	errno = ENOTSUP;
	return -1;
}

bool shared_lock(struct shared_mutex *shared)
{
	(void)shared;
	return false;
}

void shared_unlock(struct shared_mutex *shared)
{
	(void)shared;
}
