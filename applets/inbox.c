/*
 * See inbox.h. What waits is bounded, in letters and in bytes: whoever may send here may send what is large and
 * means nothing. What comes beyond stays in the kernel's or is lost there.
 */
#include "applets/inbox.h"

#include "core/fd.h"
#include "core/log.h"
#include "net/flow.h"
#include "net/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sodium.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	REQUESTS = 8192,   /* that wait */
	BYTES = 8 << 20,   /* of them */
	DATAGRAM = 1 << 16 /* bytes of one */
};

/* A request that waits. */
struct letter {
	struct list link;
	struct sender with;
	size_t n;
	char bytes[];
};

static struct letter *letter_keep(struct list *list, const struct sender *with, const char *bytes,
				  size_t n)
{
	struct letter *letter = malloc(sizeof *letter + n + 1);

	if (!letter)
		return NULL;
	letter->with = *with;
	letter->n = n;
	memcpy(letter->bytes, bytes, n);
	letter->bytes[n] = 0;
	list_append(list, &letter->link);
	return letter;
}

static struct letter *first(struct list *list)
{
	return container_of(list->next, struct letter, link);
}

/* It may have passwords in it. */
static void letter_drop(struct letter *letter)
{
	list_remove(&letter->link);
	sodium_memzero(letter->bytes, letter->n);
	free(letter);
}

/* --- requests */

/* True if there was one. */
static bool receive(struct inbox *inbox)
{
	char *bytes = (char *)flow_scratch();
	struct sender from = { .len = sizeof from.at };
	ssize_t n = recvfrom(inbox->source.fd, bytes, DATAGRAM, 0, (struct sockaddr *)&from.at,
			     &from.len);

	if (n < 0 && errno == EAGAIN)
		inbox->source.ready &= (uint8_t)~READY_IN;
	if (n < 0)
		return errno != EAGAIN; /* what ICMP brings of those we have answered */
	if (from.len <= sizeof(sa_family_t))
		from.len = 0;
	if (letter_keep(&inbox->requests, &from, bytes, (size_t)n)) {
		inbox->waiting++;
		inbox->waiting_bytes += (size_t)n;
	}
	return true;
}

static bool has_room(const struct inbox *inbox)
{
	return inbox->waiting < REQUESTS && inbox->waiting_bytes < BYTES;
}

static void woken(struct source *source)
{
	struct inbox *inbox = container_of(source, struct inbox, source);
	struct letter *letter;

	while (source->ready & READY_IN && has_room(inbox) && receive(inbox))
		;
	if (inbox->waiting > 0) {
		letter = first(&inbox->requests);
		if (inbox->take(inbox, &letter->with, letter->bytes, letter->n)) {
			inbox->waiting--;
			inbox->waiting_bytes -= letter->n;
			letter_drop(letter);
		}
	}
	if (inbox->waiting > 0 || source->ready & READY_IN)
		reactor_again(source);
}

/* --- the socket */

bool inbox_path(struct sender *at, const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t n = strlen(path);

	if (n >= sizeof un.sun_path)
		return false;
	memcpy(un.sun_path, path, n + 1);
	*at = (struct sender){ .len = sizeof un };
	memcpy(&at->at, &un, sizeof un);
	return true;
}

/* Is there a socket of this name that nobody listens at? */
static bool is_stale(const struct sender *at, const char *path)
{
	struct sender probe = { .at.ss_family = AF_UNIX };
	struct stat s;
	bool refused;
	int fd;

	if (lstat(path, &s) < 0 || !S_ISSOCK(s.st_mode))
		return false;
	fd = socket_mailbox((const struct sockaddr *)&probe.at, 0);
	if (fd < 0)
		return false;
	refused = socket_reconnect(fd, (const struct sockaddr *)&at->at, at->len) < 0 &&
		  errno == ECONNREFUSED;
	close(fd);
	return refused;
}

static int open_path(struct inbox *inbox, const struct sender *at)
{
	const char *path = ((const struct sockaddr_un *)(const void *)&at->at)->sun_path;
	int fd = socket_mailbox((const struct sockaddr *)&at->at, at->len);

	if (fd < 0 && errno == EADDRINUSE) {
		if (is_stale(at, path) && unlink(path) == 0)
			fd = socket_mailbox((const struct sockaddr *)&at->at, at->len);
		else
			errno = EADDRINUSE;
	}
	if (fd >= 0)
		inbox->path = strdup(path);
	return fd;
}

int inbox_open(struct inbox *inbox, const struct sender *at)
{
	int fd = at->at.ss_family == AF_UNIX
			 ? open_path(inbox, at)
			 : socket_mailbox((const struct sockaddr *)&at->at, at->len);
	int error = errno;

	list_init(&inbox->requests);
	outbox_open(&inbox->outbox, fd);
	inbox->source.fd = fd;
	errno = error;
	if (fd < 0)
		return -1;
	return reactor_watch_input(&inbox->source, fd, woken);
}

void inbox_close(struct inbox *inbox)
{
	while (!list_empty(&inbox->requests))
		letter_drop(first(&inbox->requests));
	outbox_close(&inbox->outbox);
	reactor_forget(&inbox->source);
	if (inbox->path)
		unlink(inbox->path);
	free(inbox->path);
	inbox->path = NULL;
}
