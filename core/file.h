/*
 * Small files that others write while we run, and that are to be read again when they change:
 * without the heap, and without asking the disk more than is needed.
 */
#ifndef CORE_FILE_H
#define CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* What a file looked like when it was last read. Zeroed: as if it were not there. */
struct file_stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec written, changed;
};

/* True if the file (or its absence) is another than the stamp says, which is brought up to date. */
bool file_changed(const char *path, struct file_stamp *stamp);

/* The first n bytes of the file: how many there were, or -1 with errno. */
ssize_t file_read(const char *path, char *to, size_t n);

/* Write what a stream still holds. True if all that was ever put into it has been written; else it
 * is cut somewhere. */
bool file_written(FILE *file);

/* The same of stdout, what it got being a program's answer. False: and that has been said. */
bool file_answered(const char *program);

#endif
