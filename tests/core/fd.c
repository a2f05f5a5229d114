/*
 * What is opened: close-on-exec, all of it, and whether it blocks. Linked once with fd.c and once
 * with fd_macos.c.
 */
#include "core/fd.h"

#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <unistd.h>

static void looks_like(int fd, bool blocks)
{
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, blocks ? 0 : O_NONBLOCK);
}

static void pipes_block_or_not(void **state)
{
	int ends[2];
	char byte = 0;

	(void)state;
	for (int flags = 0; flags <= O_NONBLOCK; flags += O_NONBLOCK) {
		assert_int_equal(fd_pipe(ends, flags), 0);
		looks_like(ends[0], flags == 0);
		looks_like(ends[1], flags == 0);
		assert_int_equal(write(ends[1], "x", 1), 1);
		assert_int_equal(read(ends[0], &byte, 1), 1);
		assert_int_equal(byte, 'x');
		close(ends[0]);
		close(ends[1]);
	}
}

static void sockets_do_not_block(void **state)
{
	int fd = fd_socket(AF_INET, SOCK_DGRAM, 0), kind = 0;
	socklen_t len = sizeof(kind);

	(void)state;
	looks_like(fd, false);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &len), 0);
	assert_int_equal(kind, SOCK_DGRAM);
	close(fd);
	assert_int_equal(fd_socket(AF_INET, SOCK_STREAM, IPPROTO_UDP), -1);
	assert_int_equal(errno, EPROTONOSUPPORT);
}

static void accepted_ones_say_who_it_is(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET }, from, peer = { 0 };
	socklen_t len = sizeof(at), from_len = sizeof(from), peer_len = sizeof(peer);
	int listener = fd_socket(AF_INET, SOCK_STREAM, 0), near,
	    far = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(fd_accept(listener, (struct sockaddr *)&peer, &peer_len), -1);
	assert_true(errno == EAGAIN || errno == EWOULDBLOCK);

	assert_int_equal(connect(far, (struct sockaddr *)&at, len), 0);
	assert_int_equal(getsockname(far, (struct sockaddr *)&from, &from_len), 0);
	peer_len = sizeof(peer);
	near = fd_accept(listener, (struct sockaddr *)&peer, &peer_len);
	looks_like(near, false);
	assert_int_equal(peer.sin_port, from.sin_port);
	close(near);
	close(far);
	close(listener);
}

/* One message with as many descriptors. */
static void pass(int box, const int *passed, size_t count)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} ancillary = { 0 };
	char byte = 'b';
	struct iovec bytes = { &byte, 1 };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = ancillary.room };
	struct cmsghdr *c;

	m.msg_controllen = CMSG_SPACE(count * sizeof(int));
	c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(c), passed, count * sizeof(int));
	assert_int_equal(sendmsg(box, &m, 0), 1);
}

static void what_comes_with_a_message_is_not_inherited(void **state)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} ancillary;
	char byte = 0;
	struct iovec bytes = { &byte, 1 };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1 };
	int box[2], ends[2], got[2];

	(void)state;
	assert_int_equal(fd_pair(AF_UNIX, SOCK_DGRAM, box), 0);
	looks_like(box[0], false);
	looks_like(box[1], false);
	assert_int_equal(pipe(ends), 0);
	pass(box[0], ends, 2);

	m.msg_control = ancillary.room;
	m.msg_controllen = sizeof(ancillary.room);
	assert_int_equal(fd_receive(box[1], &m), 1);
	assert_int_equal(byte, 'b');
	memcpy(got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(got));
	for (int i = 0; i < 2; i++) {
		assert_int_not_equal(got[i], ends[i]);
		looks_like(got[i], true);
		close(got[i]);
		close(ends[i]);
	}

	assert_int_equal(send(box[0], "c", 1, 0), 1); /* one with none */
	m.msg_controllen = sizeof(ancillary.room);
	assert_int_equal(fd_receive(box[1], &m), 1);
	m.msg_controllen = sizeof(ancillary.room);
	assert_int_equal(fd_receive(box[1], &m), -1);
	assert_true(errno == EAGAIN || errno == EWOULDBLOCK);
	close(box[0]);
	close(box[1]);
}

static void without_descriptors_it_says_so(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(fd_socket(-1, SOCK_STREAM, 0), -1);
	assert_int_equal(fd_pair(AF_INET, SOCK_STREAM, ends), -1);
	assert_int_equal(fd_accept(-1, NULL, NULL), -1);
	assert_int_equal(errno, EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipes_block_or_not),
		cmocka_unit_test(sockets_do_not_block),
		cmocka_unit_test(accepted_ones_say_who_it_is),
		cmocka_unit_test(what_comes_with_a_message_is_not_inherited),
		cmocka_unit_test(without_descriptors_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
