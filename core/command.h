/*
 * Programs that this one runs to their end, at start and at exit, and whose words it wants: by an
 * argument vector, never through a shell. Those that run beside it are in core/child.h.
 */
#ifndef CORE_COMMAND_H
#define CORE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* Find a program in PATH, or where a system has those of its administration, which may not be in
 * the PATH of a daemon. The path is in to[0..n). */
bool command_find(const char *name, char *to, size_t n);

/* Run the program `path`, give it `input` (length bytes) to read, and wait for its end. What it
 * writes, to either stream, is in words[0..n), cut, terminated, and fit for a line of the log, with
 * ';' between lines. It may configure the network if we may or kept that (core/process.h). Its exit
 * status, 128 + a signal's number, or -1 with errno. */
int command_run(const char *path, char *const *argv, const char *input, size_t length, char *words,
		size_t n);

#endif
