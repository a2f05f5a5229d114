/*
 * A process that does nothing but wait: when the one that started it is gone, killed perhaps, it
 * kills a process group. For programs that themselves start others, or that the system lets outlive
 * their parents (core/child.h).
 */
#ifndef CORE_GUARD_H
#define CORE_GUARD_H

#include <sys/types.h>

struct guard {
	pid_t pid; /* 0: there is none */
	int line;  /* it ends when this does */
};

/* Guard the group of `leader`, a child of ours. 0, or -1 with errno. */
int guard_start(struct guard *guard, pid_t leader);

/* It is needed no more; the group is left alone. To be called while the leader's number still
 * belongs to it, or to nobody. */
void guard_end(struct guard *guard);

#endif
