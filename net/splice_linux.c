/*
 * See splice.h. The pipe takes a batch of a flow, if the system lets it grow; otherwise less.
 */
#include "net/splice.h"

#include <fcntl.h>
#include <unistd.h>

enum { ROOM = 256 << 10 };

void splice_open(struct splice_pipe *s)
{
	int ends[2];

	*s = (struct splice_pipe){ .in = -1, .out = -1 };
	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
		return;
	*s = (struct splice_pipe){ .in = ends[1], .out = ends[0] };
	fcntl(s->in, F_SETPIPE_SZ, ROOM);
}

void splice_close(struct splice_pipe *s)
{
	if (s->in < 0)
		return;
	close(s->in);
	close(s->out);
	*s = (struct splice_pipe){ .in = -1, .out = -1 };
}

ssize_t splice_in(const struct splice_pipe *s, int from, size_t n)
{
	return splice(from, NULL, s->in, NULL, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
}

ssize_t splice_out(const struct splice_pipe *s, int to, size_t n)
{
	return splice(s->out, NULL, to, NULL, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
}
