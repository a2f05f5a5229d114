/*
 * A getline() that finds no memory once it has given `lines_left` lines. The test that includes this is linked with it in
 * front of libc's (--wrap in the Makefile); glibc's header calls __getdelim() instead.
 */
#ifndef TESTS_GETLINE_H
#define TESTS_GETLINE_H

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

static unsigned lines_left = UINT_MAX;

ssize_t __real_getline(char **line, size_t *room, FILE *from);
ssize_t __wrap_getline(char **line, size_t *room, FILE *from);
ssize_t __wrap___getdelim(char **line, size_t *room, int end, FILE *from);

ssize_t __wrap_getline(char **line, size_t *room, FILE *from)
{
	if (lines_left == 0) {
		errno = ENOMEM;
		return -1;
	}
	lines_left--;
	return __real_getline(line, room, from);
}

ssize_t __wrap___getdelim(char **line, size_t *room, int end, FILE *from)
{
	(void)end; /* only getline() comes here */
	return __wrap_getline(line, room, from);
}

#endif
