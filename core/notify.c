/*
 * See notify.h. Called by applets/applet.c; owns the one descriptor. The socket is opened here and
 * not by net/socket.c since core knows nothing of net.
 */
#include "core/notify.h"

#include "core/fd.h"
#include "core/log.h"
#include "core/reactor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct {
	int fd;		   /* valid if `open` */
	bool open;	   /* somebody listens */
	uint64_t watchdog; /* ms between signs of life; 0: nobody asks */
	struct timer timer;
} manager;

static void say(const char *text)
{
	if (manager.open && send(manager.fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("the service manager does not hear: %s", strerror(errno));
}

/* A path, or a name in Linux's abstract space, which begins with '@'. */
static bool connect_to(const char *name)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = strlen(name);

	if ((*name != '/' && *name != '@') || n >= sizeof(to.sun_path)) {
		errno = EINVAL;
		return false;
	}
	memcpy(to.sun_path, name, n);
	if (*name == '@')
		to.sun_path[0] = 0;
	manager.fd = fd_socket(AF_UNIX, SOCK_DGRAM, 0);
	if (manager.fd < 0)
		return false;
	if (connect(manager.fd, (struct sockaddr *)&to,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) == 0)
		return true;
	close(manager.fd);
	return false;
}

/* Half of the time that may pass between two of them; 0: they are not for this process. */
static uint64_t watchdog_time(void)
{
	const char *time = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!time || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	return strtoull(time, NULL, 10) / 2000;
}

void notify_open(void)
{
	const char *name = getenv("NOTIFY_SOCKET");

	if (name && *name) {
		manager.open = connect_to(name);
		if (!manager.open)
			log_warn("NOTIFY_SOCKET: cannot tell '%s' anything: %s", name,
				 strerror(errno));
		manager.watchdog = manager.open ? watchdog_time() : 0;
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

static void live(struct timer *timer)
{
	say("WATCHDOG=1");
	reactor_after(timer, manager.watchdog);
}

void notify_ready(void)
{
	char text[64];

	snprintf(text, sizeof(text), "READY=1\nMAINPID=%ld", (long)getpid());
	say(text);
	if (manager.watchdog == 0 || manager.timer.fire)
		return;
	timer_init(&manager.timer, live);
	live(&manager.timer);
}

void notify_reloading(void)
{
	struct timespec now = { 0 };
	char text[64];

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000);
	say(text);
}

void notify_stopping(void)
{
	say("STOPPING=1");
}
