/*
 * See outbox.h. Two things hold answers up: the queue of the one who is to read them, and the
 * buffer of our own socket, in which a Unix socket keeps what its clients have not read. The first
 * is a client's own affair. Of the second each may fill a share, so that the others find room. The
 * kernel tells only how much is unread in all; whose that is follows from how much less it has
 * become: who reads, reads all and at once.
 */
#include "applets/outbox.h"

#include "core/log.h"
#include "core/reactor.h"
#include "core/text.h"
#include "net/endpoint.h"
#include "net/socket.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum {
	ANSWERS = 8192,	 /* that wait */
	BYTES = 8 << 20, /* of them */
	SHARES = 8,	 /* clients that read nothing, until our buffer is full */
	DOUBT = 250,	 /* ms without progress until it is forgiven */
	RETRY = 5,	 /* ms until unsent answers are tried again */
	PATIENCE = 5000	 /* ms without progress until they are dropped */
};

/* One whose answers wait. */
struct reader {
	struct list link;
	struct sender to;
	struct list letters;
	uint64_t due; /* when they are dropped */
};

struct letter {
	struct list link;
	size_t n;
	char bytes[];
};

static bool same(const struct sender *a, const struct sender *b)
{
	return a->len == b->len && !memcmp(&a->at, &b->at, a->len);
}

/* --- what is not read yet */

static struct unread *unread_of(struct outbox *outbox, const struct sender *reader)
{
	for (unsigned i = 0; i < outbox->unreads; i++)
		if (same(&outbox->unread[i].by, reader))
			return &outbox->unread[i];
	return NULL;
}

static void forget_unread(struct outbox *outbox, unsigned i)
{
	memmove(outbox->unread + i, outbox->unread + i + 1,
		(--outbox->unreads - i) * sizeof outbox->unread[0]);
}

/* So many bytes have been read: by the one who had just as many, or by those who were sent
 * something last. */
static void note_read(struct outbox *outbox, int bytes)
{
	for (unsigned i = outbox->unreads; i-- > 0;)
		if (outbox->unread[i].bytes == bytes) {
			forget_unread(outbox, i);
			return;
		}
	while (bytes > 0 && outbox->unreads > 0) {
		struct unread *last = &outbox->unread[outbox->unreads - 1];

		if (last->bytes > bytes) {
			last->bytes -= bytes;
			return;
		}
		bytes -= last->bytes;
		outbox->unreads--;
	}
	outbox->unknown -= bytes;
}

static int look_at_unread(struct outbox *outbox)
{
	int left = socket_unread(outbox->fd), sum = outbox->unknown;

	for (unsigned i = 0; i < outbox->unreads; i++)
		sum += outbox->unread[i].bytes;
	if (sum > left)
		note_read(outbox, sum - left);
	return left;
}

/* Without room for another one, it is not known any more whose that is which was sent first. */
static void note_unread(struct outbox *outbox, const struct sender *reader, int bytes)
{
	struct unread *old = unread_of(outbox, reader), new = { .by = *reader };

	if (bytes <= 0)
		return;
	if (old) {
		new = *old;
		forget_unread(outbox, (unsigned)(old - outbox->unread));
	} else if (outbox->unreads == OUTBOX_UNREAD) {
		outbox->unknown += outbox->unread[0].bytes;
		forget_unread(outbox, 0);
	}
	new.bytes += bytes;
	outbox->unread[outbox->unreads++] = new;
}

/* May it be sent more? */
static bool has_share(struct outbox *outbox, const struct sender *reader)
{
	const struct unread *unread = unread_of(outbox, reader);

	return !unread || unread->bytes <= outbox->share;
}

/* What others have left may have been put down to it: who waits is believed once that he reads. */
static void forgive(struct outbox *outbox, const struct sender *reader)
{
	struct unread *unread = unread_of(outbox, reader);

	if (!unread || unread->forgiven)
		return;
	outbox->unknown += unread->bytes;
	unread->bytes = 0;
	unread->forgiven = true;
}

/* --- sending */

/* True if it is gone: sent, or never to be sent. */
static bool send_now(struct outbox *outbox, const struct sender *to, const char *bytes, size_t n)
{
	bool shared = to->at.ss_family == AF_UNIX;
	int before = shared ? look_at_unread(outbox) : 0;

	if (shared && !has_share(outbox, to))
		return false;
	if (sendto(outbox->fd, bytes, n, MSG_NOSIGNAL, (const struct sockaddr *)&to->at, to->len) >=
	    0) {
		if (shared)
			note_unread(outbox, to, socket_unread(outbox->fd) - before);
		return true;
	}
	if (errno == EAGAIN || errno == ENOBUFS)
		return false;
	log_debug("an answer cannot be sent: %s", strerror(errno));
	return true;
}

static struct letter *first_letter(struct reader *reader)
{
	return container_of(reader->letters.next, struct letter, link);
}

/* It may have passwords in it. */
static void letter_drop(struct outbox *outbox, struct letter *letter)
{
	outbox->unsent--;
	outbox->unsent_bytes -= letter->n;
	list_remove(&letter->link);
	sodium_memzero(letter->bytes, letter->n);
	free(letter);
}

static void reader_drop(struct outbox *outbox, struct reader *reader)
{
	while (!list_empty(&reader->letters))
		letter_drop(outbox, first_letter(reader));
	list_remove(&reader->link);
	free(reader);
}

static void print_sender(const struct sender *sender, char *text)
{
	struct endpoint endpoint;

	if (sender->at.ss_family == AF_UNIX) {
		const struct sockaddr_un *un = (const void *)&sender->at;

		snprintf(text, ENDPOINT_TEXT, "%.*s",
			 (int)(sender->len - offsetof(struct sockaddr_un, sun_path)), un->sun_path);
		text_make_printable(text);
	} else {
		endpoint_from_socket(&endpoint, (const struct sockaddr *)&sender->at);
		endpoint_print(&endpoint, text, ENDPOINT_TEXT);
	}
}

static void give_up(struct outbox *outbox, struct reader *reader)
{
	char text[ENDPOINT_TEXT];

	print_sender(&reader->to, text);
	log_warn("%s does not take its answers: they are dropped", text);
	reader_drop(outbox, reader);
}

/* True if something is gone. */
static bool go_on(struct outbox *outbox, struct reader *reader)
{
	bool gone = false;

	while (!list_empty(&reader->letters)) {
		struct letter *letter = first_letter(reader);

		if (!send_now(outbox, &reader->to, letter->bytes, letter->n))
			break;
		letter_drop(outbox, letter);
		gone = true;
	}
	if (gone) {
		reader->due = reactor_now() + PATIENCE;
		list_remove(&reader->link);
		list_append(&outbox->readers, &reader->link);
	}
	return gone;
}

static void wait_on(struct outbox *outbox, struct reader *reader)
{
	if (reactor_now() >= reader->due)
		give_up(outbox, reader);
	else if (reactor_now() >= reader->due - PATIENCE + DOUBT)
		forgive(outbox, &reader->to);
}

/* One in each turn, so that it is clear who has read what the kernel has no more. */
static void try_again(struct timer *timer)
{
	struct outbox *outbox = container_of(timer, struct outbox, retry);

	for (struct list *l = outbox->readers.next, *next; l != &outbox->readers; l = next) {
		struct reader *reader = container_of(l, struct reader, link);
		bool gone = go_on(outbox, reader);

		next = l->next;
		if (list_empty(&reader->letters))
			reader_drop(outbox, reader);
		else if (!gone)
			wait_on(outbox, reader);
		if (gone)
			break;
	}
	if (outbox->unsent > 0)
		reactor_after(timer, RETRY);
}

/* --- waiting */

static struct reader *find(const struct outbox *outbox, const struct sender *to)
{
	for (struct list *l = outbox->readers.next; l != &outbox->readers; l = l->next) {
		struct reader *reader = container_of(l, struct reader, link);

		if (same(&reader->to, to))
			return reader;
	}
	return NULL;
}

static struct reader *reader_make(struct outbox *outbox, const struct sender *to)
{
	struct reader *reader = malloc(sizeof *reader);

	if (!reader)
		return NULL;
	*reader = (struct reader){ .to = *to, .due = reactor_now() + PATIENCE };
	list_init(&reader->letters);
	list_append(&outbox->readers, &reader->link);
	return reader;
}

/* Who takes nothing for the longest time goes first. True if it was not this one. */
static bool make_room(struct outbox *outbox, const struct reader *reader)
{
	struct reader *slowest = NULL;

	for (struct list *l = outbox->readers.next; l != &outbox->readers; l = l->next) {
		struct reader *other = container_of(l, struct reader, link);

		if (!slowest || other->due < slowest->due)
			slowest = other;
	}
	give_up(outbox, slowest);
	return slowest != reader;
}

static bool keep(struct outbox *outbox, struct reader *reader, const char *bytes, size_t n)
{
	struct letter *letter = malloc(sizeof *letter + n);

	if (!letter)
		return false;
	letter->n = n;
	memcpy(letter->bytes, bytes, n);
	list_append(&reader->letters, &letter->link);
	outbox->unsent++;
	outbox->unsent_bytes += n;
	return true;
}

void outbox_send(struct outbox *outbox, const struct sender *to, const char *bytes, size_t n)
{
	struct reader *reader = find(outbox, to);

	if (to->len == 0)
		return;
	if (!reader) {
		if (send_now(outbox, to, bytes, n))
			return;
		reader = reader_make(outbox, to);
	}
	while (reader && (outbox->unsent >= ANSWERS || outbox->unsent_bytes >= BYTES))
		if (!make_room(outbox, reader))
			return;
	if (!reader || !keep(outbox, reader, bytes, n))
		log_warn("an answer is lost: no memory for it");
	if (!timer_pending(&outbox->retry))
		reactor_after(&outbox->retry, RETRY);
}

void outbox_open(struct outbox *outbox, int fd)
{
	*outbox = (struct outbox){ .fd = fd, .share = socket_room(fd) / SHARES };
	list_init(&outbox->readers);
	timer_init(&outbox->retry, try_again);
}

void outbox_close(struct outbox *outbox)
{
	while (!list_empty(&outbox->readers))
		reader_drop(outbox, container_of(outbox->readers.next, struct reader, link));
	reactor_cancel(&outbox->retry);
}
