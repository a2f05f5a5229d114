/*
 * The file that says which process a daemon is. It is opened while we may still do so, and kept
 * open, so that it can be written and emptied after the user has changed. For core/process.c.
 */
#ifndef CORE_PIDFILE_H
#define CORE_PIDFILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct pidfile {
	int directory, fd;
	bool created;  /* by pidfile_open() */
	pid_t written; /* the process whose number it holds, ours; 0: not yet */
	char name[NAME_MAX + 1];
};

/* Open or create it; its contents stay. A symbolic link is not followed; what is neither a file nor
 * a device is refused, and in a directory where everybody may write what is neither ours nor
 * root's. 0, or -1 with errno. */
int pidfile_open(struct pidfile *file, const char *path);

/* Replace the contents by our process number, without a newline as shadowsocks-libev does. */
int pidfile_write(struct pidfile *file);

/* Remove the file, or empty it where that is not permitted (any more), if it still is the one that
 * was opened and still holds our number. Without pidfile_write() in this process: nothing. */
void pidfile_remove(struct pidfile *file);

/* Nobody came to write it: remove it if it was created for nothing. errno is kept if that succeeds. */
void pidfile_abandon(struct pidfile *file);

#endif
