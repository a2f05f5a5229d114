/*
 * See socket_passed.h. Called by applet.c and, for each listener, by socket.c. The descriptors are
 * the first after the standard ones.
 */
#include "net/socket_passed.h"

#include "core/log.h"
#include "net/endpoint.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { FIRST = 3, PASSED_MAX = 64 };

/* One per process: it is about the process. */
static uint64_t passed; /* bit i: descriptor FIRST + i is there and nobody's */

static void keep(int fd)
{
	int type;
	socklen_t len = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0) {
		log_warn("LISTEN_FDS: descriptor %d is no socket", fd);
		return;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	passed |= (uint64_t)1 << (fd - FIRST);
}

void socket_passed_open(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	long n = count ? strtol(count, NULL, 10) : 0;

	if (n > 0 && pid && strtol(pid, NULL, 10) == (long)getpid())
		for (long i = 0; i < n && i < PASSED_MAX; i++)
			keep((int)(FIRST + i));
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
}

static bool is_bound_to(int fd, const struct sockaddr *address, int type)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name), type_len = sizeof(int);
	struct address wanted, has;
	int its_type;

	if (getsockname(fd, (struct sockaddr *)&name, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &its_type, &type_len) < 0 || its_type != type ||
	    name.ss_family != address->sa_family)
		return false;
	return address_from_socket(&wanted, address) ==
		       address_from_socket(&has, (struct sockaddr *)&name) &&
	       address_equal(&wanted, &has);
}

int socket_passed(const struct sockaddr *address, int type)
{
	for (int i = 0; i < PASSED_MAX; i++) {
		if (!(passed >> i & 1) || !is_bound_to(FIRST + i, address, type))
			continue;
		passed &= ~((uint64_t)1 << i);
		return FIRST + i;
	}
	return -1;
}

void socket_passed_close(void)
{
	for (int i = 0; i < PASSED_MAX; i++) {
		struct sockaddr_storage name = { 0 };
		socklen_t len = sizeof(name);
		char text[ENDPOINT_TEXT];

		if (!(passed >> i & 1))
			continue;
		getsockname(FIRST + i, (struct sockaddr *)&name, &len);
		log_warn("LISTEN_FDS: nobody listens on %s, whose socket was passed",
			 socket_print((struct sockaddr *)&name, true, text, sizeof(text)));
		close(FIRST + i);
	}
	passed = 0;
}
