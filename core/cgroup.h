/*
 * What control groups of Linux allow this process, in either version of them. Where they cannot be
 * seen, nothing is found.
 */
#ifndef CORE_CGROUP_H
#define CORE_CGROUP_H

#include <stdbool.h>

enum { CGROUP_TEXT = 4096 };

/* The beginning of a file, in the old version: "/cpu/cpu.cfs_quota_us". False: there is none. */
bool cgroup_read(const char *name, char text[CGROUP_TEXT]);

/* The same file ("memory.max") of the process's group and of all above it, in the new version: each
 * text is shown to look(). */
void cgroup_upwards(const char *name, void (*look)(const char *text, void *own), void *own);

#endif
