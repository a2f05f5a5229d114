/*
 * Bytes from one socket to another that nobody here looks at: through a pipe, so that they are not
 * copied. The seam to the system: splice_linux.c, splice_bsd.c.
 */
#ifndef NET_SPLICE_H
#define NET_SPLICE_H

#include <stddef.h>
#include <sys/types.h>

struct splice_pipe {
	int in, out; /* its ends; it is empty whenever nobody uses it; -1: there is none */
};

/* Make the pipe. Without one (no descriptor, no such system) `in` and `out` are -1. */
void splice_open(struct splice_pipe *splice);
void splice_close(struct splice_pipe *splice);

/* From a socket into the pipe, up to n bytes: as read(). */
ssize_t splice_in(const struct splice_pipe *splice, int from, size_t n);

/* From the pipe to a socket: as write(). What is not taken must be read from splice->out. */
ssize_t splice_out(const struct splice_pipe *splice, int to, size_t n);

#endif
