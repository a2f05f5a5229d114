/*
 * A plain UDP forwarder, which udp_loss.py compares with: one client, no cryptography, many
 * datagrams with one call.
 *
 *     udp_forward PORT TARGET
 *
 * Datagrams to 127.0.0.1:PORT leave for 127.0.0.1:TARGET from a socket of their own, and what comes
 * there goes to whoever wrote last. Ends when it is killed.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <signal.h>

enum { BURST = 64, SIZE = 2048, BUFFER = 4 << 20 };

static unsigned char bytes[BURST][SIZE];
static struct mmsghdr messages[BURST];
static struct iovec iov[BURST];
static struct sockaddr_in names[BURST];

static struct sockaddr_in loopback(const char *port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)atoi(port)),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int open_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), size = BUFFER;

	if (fd < 0)
		err(1, "socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	return fd;
}

/* All that has come, and on; `to`: NULL for a connected socket. Notes the last sender. */
static void forward(int from, int on, struct sockaddr_in *to, struct sockaddr_in *last)
{
	for (int n = BURST; n == BURST;) {
		for (int i = 0; i < BURST; i++) {
			iov[i] = (struct iovec){ bytes[i], SIZE };
			messages[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i],
							       .msg_iovlen = 1,
							       .msg_name = &names[i],
							       .msg_namelen = sizeof names[i] };
		}
		n = recvmmsg(from, messages, BURST, MSG_DONTWAIT, NULL);
		if (n <= 0)
			return;
		*last = names[n - 1];
		for (int i = 0; i < n; i++) {
			iov[i].iov_len = messages[i].msg_len;
			messages[i].msg_hdr.msg_name = to;
			messages[i].msg_hdr.msg_namelen = to ? sizeof *to : 0;
		}
		for (int sent = 0; sent < n;) {
			int now = sendmmsg(on, messages + sent, (unsigned)(n - sent), 0);

			sent += now > 0 ? now : 1;
		}
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in here, there, client = { .sin_family = AF_INET }, target;
	struct pollfd watched[2];

	if (argc != 3)
		errx(1, "usage: udp_forward PORT TARGET");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	here = loopback(argv[1]);
	there = loopback(argv[2]);
	for (int i = 0; i < 2; i++)
		watched[i] = (struct pollfd){ .fd = open_socket(), .events = POLLIN };
	if (bind(watched[0].fd, (struct sockaddr *)&here, sizeof here) < 0)
		err(1, "port %s", argv[1]);
	if (connect(watched[1].fd, (struct sockaddr *)&there, sizeof there) < 0)
		err(1, "port %s", argv[2]);
	while (poll(watched, 2, -1) > 0) {
		if (watched[0].revents)
			forward(watched[0].fd, watched[1].fd, NULL, &client);
		if (watched[1].revents)
			forward(watched[1].fd, watched[0].fd, &client, &target);
	}
	return 0;
}
