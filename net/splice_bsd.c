/*
 * See splice.h. There is nothing like it here that ends after so many bytes and tells their number:
 * everything is copied.
 */
#include "net/splice.h"

#include <errno.h>

void splice_open(struct splice_pipe *s)
{
	*s = (struct splice_pipe){ .in = -1, .out = -1 };
}

void splice_close(struct splice_pipe *s)
{
	(void)s;
}

ssize_t splice_in(const struct splice_pipe *s, int from, size_t n)
{
	(void)s, (void)from, (void)n;
	errno = ENOSYS;
	return -1;
}

ssize_t splice_out(const struct splice_pipe *s, int to, size_t n)
{
	(void)s, (void)to, (void)n;
	errno = ENOSYS;
	return -1;
}
