/*
 * What an emulator of user programs does not do as the kernel does: a word for each. Nothing is printed
 * on a real system. `make reach` tells the unit tests, which leave out what needs it (tests/emulator.h):
 * so it is seen here, in a few lines each, that a fault is not ours.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 65536 };

static bool marks_pages(void)
{
	unsigned char *page =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status = -1;

	if (page == MAP_FAILED || madvise(page, PAGE, MADV_WIPEONFORK) != 0)
		return false;
	page[0] = 1;
	pid_t pid = fork();
	if (pid == 0)
		_exit(page[0]);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static bool robust_mutexes(void)
{
	pthread_mutexattr_t attr;

	return pthread_mutexattr_init(&attr) == 0 &&
	       pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0;
}

static bool subreaper(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0;
}

/* Known, if perhaps not permitted. */
static bool option(int level, int name)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	bool known = fd >= 0 &&
		     (setsockopt(fd, level, name, &on, sizeof on) == 0 || errno != ENOPROTOOPT);

	close(fd);
	return known;
}

static bool socket_marks(void)
{
	return option(SOL_SOCKET, SO_MARK);
}

static bool transparent_sockets(void)
{
	return option(IPPROTO_IP, IP_TRANSPARENT);
}

static bool late_ports(void)
{
	return option(IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
}

/* Address space without memory costs no time: else what is terabytes large never gets done. */
static bool large_mappings(void)
{
	size_t size = sizeof(void *) > 4 ? (size_t)((uint64_t)1 << 34) : PAGE;
	clock_t before = clock();
	void *space = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	munmap(space, size);
	return space == MAP_FAILED || clock() - before < CLOCKS_PER_SEC / 200;
}

/* What is unmapped no longer counts. */
static bool address_space(void)
{
	enum { SIZE = 1 << 24 };
	unsigned long before, after;
	FILE *file = fopen("/proc/self/statm", "r");
	void *space = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!file || space == MAP_FAILED || fscanf(file, "%lu", &before) != 1)
		return true; /* nobody can tell */
	fclose(file);
	munmap(space, SIZE);
	file = fopen("/proc/self/statm", "r");
	bool counted = file && fscanf(file, "%lu", &after) == 1 && after < before;
	fclose(file);
	return counted;
}

/* A socket on loopback, and where it is. */
static int bound(int type, struct sockaddr_in *at)
{
	socklen_t len = sizeof *at;
	int fd = socket(AF_INET, type, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	if (bind(fd, (struct sockaddr *)at, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)at, &len) < 0)
		perror("emulator: no socket on loopback");
	return fd;
}

/* SO_ERROR has the numbers that errno has. */
static bool socket_errors(void)
{
	struct sockaddr_in at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), nobody = bound(SOCK_STREAM, &at),
	    error = 0;
	struct pollfd ask = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof error;

	if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0 && errno == EINPROGRESS)
		poll(&ask, 1, 5000);
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	close(nobody);
	close(fd);
	return error == ECONNREFUSED || error == 0;
}

/* More than its first number. */
static bool tcp_info(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uint32_t info[8];
	socklen_t len = sizeof info;
	bool whole = getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len) < 0 || len == sizeof info;

	close(fd);
	return whole;
}

/* The numbers beside a message are the kernel's: here, how long the datagrams are that it is. */
static bool segment_messages(void)
{
	enum { SEGMENT = 103 };
	struct sockaddr_in at;
	int near = socket(AF_INET, SOCK_DGRAM, 0), far = bound(SOCK_DGRAM, &at);
	char bytes[200] = { 0 };
	uint16_t size = 100;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof size)];
	} control = { .header = { .cmsg_level = IPPROTO_UDP,
				  .cmsg_type = SEGMENT,
				  .cmsg_len = CMSG_LEN(sizeof size) } };
	struct iovec iov = { .iov_base = bytes, .iov_len = sizeof bytes };
	struct msghdr message = { .msg_name = &at,
				  .msg_namelen = sizeof at,
				  .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof control };

	memcpy(CMSG_DATA(&control.header), &size, sizeof size);
	bool right = sendmsg(near, &message, 0) < 0 /* an old kernel */ ||
		     recv(far, bytes, sizeof bytes, 0) == size;
	close(near);
	close(far);
	return right;
}

/* Addresses in /proc/net/tcp are in this machine's byte order. */
static bool kernel_tables(void)
{
	struct sockaddr_in at;
	int fd = bound(SOCK_STREAM, &at);
	FILE *table = fopen("/proc/net/tcp", "r");
	char row[64], line[256];
	bool found = !table || listen(fd, 1) < 0;

	snprintf(row, sizeof row, ": %08X:%04X ", (unsigned)at.sin_addr.s_addr, ntohs(at.sin_port));
	while (!found && fgets(line, sizeof line, table))
		found = strstr(line, row);
	if (table)
		fclose(table);
	close(fd);
	return found;
}

int main(void)
{
	static const struct {
		const char *name;
		bool (*has)(void);
	} abilities[] = {
		{ "wipe-on-fork", marks_pages },
		{ "robust-mutexes", robust_mutexes },
		{ "subreaper", subreaper },
		{ "socket-marks", socket_marks },
		{ "transparent-sockets", transparent_sockets },
		{ "late-ports", late_ports },
		{ "large-mappings", large_mappings },
		{ "address-space", address_space },
		{ "socket-errors", socket_errors },
		{ "segment-messages", segment_messages },
		{ "tcp-info", tcp_info },
		{ "kernel-tables", kernel_tables },
	};

	for (size_t i = 0; i < sizeof abilities / sizeof *abilities; i++)
		if (!abilities[i].has())
			printf("%s ", abilities[i].name);
	return 0;
}
