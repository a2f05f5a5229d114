/*
 * Datagrams to the system's log daemon. Called by core/log.c; owns the one descriptor. The socket
 * is opened here and not by net/socket.c since core knows nothing of net.
 */
#include "core/syslog.h"

#include "core/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = 1024 + 128 }; /* a line of core/log.c, and what goes in front */

static struct {
	const char *path, *ident;
	int fd; /* valid if connected */
	bool connected;
} target;

static bool connect_again(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	syslog_close();
	if (!target.path || strlen(target.path) >= sizeof(to.sun_path))
		return false;
	memcpy(to.sun_path, target.path, strlen(target.path));
	target.fd = fd_socket(AF_UNIX, SOCK_DGRAM, 0);
	if (target.fd < 0)
		return false;
	target.connected = true;
	if (connect(target.fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return true;
	syslog_close();
	return false;
}

/* RFC 3164: <priority>Mmm dd hh:mm:ss ident[pid]: text. Month names are the protocol's, not the
 * locale's. */
static size_t compose(char *message, int priority, const char *text)
{
	static const char months[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	time_t now = time(NULL);
	struct tm tm = { 0 };
	int n;

	localtime_r(&now, &tm);
	n = snprintf(message, MESSAGE, "<%d>%s %2d %02d:%02d:%02d %s[%ld]: %s",
		     LOG_DAEMON | priority, months[tm.tm_mon % 12], tm.tm_mday, tm.tm_hour,
		     tm.tm_min, tm.tm_sec, target.ident, (long)getpid(), text);
	if (n < 0)
		return 0;
	return n < MESSAGE ? (size_t)n : MESSAGE - 1;
}

/* What LOG_CONS asks for; O_NONBLOCK since a serial console may be stopped. */
static void console_write(const char *text)
{
	char line[MESSAGE];
	int n = snprintf(line, sizeof(line), "%s[%ld]: %s\r\n", target.ident, (long)getpid(), text);
	int fd = open("/dev/console", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	if (n > 0 && write(fd, line, n < MESSAGE ? (size_t)n : MESSAGE - 1) < 0)
		errno = 0; /* there is nobody left to tell */
	close(fd);
}

void syslog_open(const char *path, const char *ident)
{
	syslog_close();
	target.path = path;
	target.ident = ident;
	connect_again();
}

void syslog_close(void)
{
	if (target.connected)
		close(target.fd);
	target.connected = false;
}

bool syslog_write(int priority, const char *text)
{
	char message[MESSAGE];
	size_t n = compose(message, priority, text);

	for (int attempt = 0; attempt < 2; attempt++) {
		if (!target.connected && !connect_again())
			break;
		if (send(target.fd, message, n, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			return true;
		if (errno == EAGAIN || errno == ENOBUFS)
			break;	/* it is there, but does not read */
		syslog_close(); /* it was restarted */
	}
	if (priority <= LOG_ERR)
		console_write(text);
	return false;
}
