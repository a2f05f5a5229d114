/*
 * Log lines. Everybody calls this; it owns the two standard streams and, by core/syslog.c, the
 * connection to the log daemon.
 *
 * A line passes three places, each of which may stop it:
 *
 *	ration	  what peers cause has a share per kind, or per address, and a cap for all
 *	fold	  a line equal to the one before is counted, not written
 *	emit	  syslog or a stream; a stream that cannot take it now loses it, and is told later
 *
 * What was stopped is said by log_flush(). All of it is memory of fixed size.
 */
#include "core/log.h"

#include "core/syslog.h"
#include "core/text.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum {
	TEXT = 1024,  /* one line without its stamp, with a NUL: what syslog daemons take whole */
	SAMPLE = 128, /* as much of a line as its summary repeats */
	IP_TEXT = 48, /* an address as inet_ntop() prints it */
	KINDS = 16,   /* of lines caused by peers */
	SETS = 64,    /* addresses are remembered in sets: 256 in all */
	WAYS = 4,
	PER_KIND = 10, /* lines per kind and minute, and per address and minute */
	PER_SECOND = 20,
	PER_MINUTE = 300,
	SECOND = 1000, /* ms */
	MINUTE = 60 * SECOND,
	FOLD_TIME = 10 * SECOND /* repeats are said after so long */
};

static const struct {
	int stream, priority;
	const char *label, *colour;
} levels[] = {
	[LOG_LEVEL_ERROR] = { STDERR_FILENO, LOG_ERR, "ERROR", "\033[01;35m" },
	[LOG_LEVEL_WARN] = { STDERR_FILENO, LOG_WARNING, "WARNING", "\033[01;33m" },
	[LOG_LEVEL_INFO] = { STDOUT_FILENO, LOG_INFO, "INFO", "\033[01;32m" },
	[LOG_LEVEL_DEBUG] = { STDOUT_FILENO, LOG_DEBUG, "DEBUG", "\033[01;36m" },
};

/* Lines in a span of time that begins when it is first asked for after the last one ended. */
struct span {
	uint64_t since;
	unsigned lines;
};

/* One kind of line that peers cause. */
struct ration {
	struct span span;
	unsigned more;	     /* lines left out */
	char sample[SAMPLE]; /* the first of them */
};

/* One address whose handshakes failed. */
struct culprit {
	struct span span;
	uint64_t used;
	bool more; /* some of its lines were left out, and it is counted in `handshakes` */
	char ip[IP_TEXT];
};

static struct {
	bool to_syslog, verbose;
	bool colour[STDERR_FILENO + 1];	       /* by descriptor */
	unsigned long lost[STDERR_FILENO + 1]; /* lines the stream did not take */
	uint64_t now;			       /* ms, as of the last log_flush() */
	struct {
		enum log_level level;
		bool valid;
		unsigned repeats;
		uint64_t since;
		char text[TEXT];
	} last;
	struct span second, minute; /* of all that peers cause */
	struct ration kinds[KINDS];
	struct {
		uint64_t since;
		unsigned more, addresses;
		struct culprit table[SETS][WAYS];
	} handshakes;
} state;

static void compose(char text[TEXT], const char *format, va_list args)
{
	int n = vsnprintf(text, TEXT, format, args);

	if (n < 0)
		snprintf(text, TEXT, "(a line that cannot be formatted)");
	else if (n >= TEXT)
		memcpy(text + TEXT - 4, "...", 4);
	text_make_printable(text);
}

/* A stream may be a blocking pipe whose reader sleeps, and is shared with others, so that it cannot
 * be made non-blocking: ask first. Lines are shorter than PIPE_BUF, hence whole or not at all. */
static bool stream_put(int fd, const char *line, size_t n)
{
	struct pollfd ask = { .fd = fd, .events = POLLOUT };

	if (poll(&ask, 1, 0) != 1)
		return false;
	return write(fd, line, n) >= 0;
}

static bool stream_line(enum log_level level, const char *text)
{
	char line[TEXT + 192];
	int fd = levels[level].stream;
	bool colour = state.colour[fd];
	time_t now = time(NULL);
	struct tm tm = { 0 };
	int n;

	localtime_r(&now, &tm);
	n = snprintf(line, sizeof(line), "%s %04d-%02d-%02d %02d:%02d:%02d %s: %s%s\n",
		     colour ? levels[level].colour : "", tm.tm_year + 1900, tm.tm_mon + 1,
		     tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, levels[level].label,
		     colour ? "\033[0m" : "", text);
	return n > 0 && stream_put(fd, line, (size_t)n);
}

static void stream_write(enum log_level level, const char *text)
{
	unsigned long *lost = &state.lost[levels[level].stream];
	char apology[64];

	if (*lost > 0) {
		snprintf(apology, sizeof(apology), "%lu lines could not be written", *lost);
		if (stream_line(level, apology))
			*lost = 0;
	}
	if (*lost > 0 || !stream_line(level, text))
		(*lost)++;
}

static void emit(enum log_level level, const char *text)
{
	if (state.to_syslog && syslog_write(levels[level].priority, text))
		return;
	stream_write(level, text);
}

static void tell_repeats(void)
{
	char text[64];

	if (state.last.repeats == 0)
		return;
	snprintf(text, sizeof(text), "last message repeated %u times", state.last.repeats);
	emit(state.last.level, text);
	state.last.repeats = 0;
	state.last.since = state.now;
}

/* Write a line, whatever the one before was. */
static void say_plain(enum log_level level, const char *text)
{
	tell_repeats();
	state.last.valid = false;
	emit(level, text);
}

static void say(enum log_level level, const char *text)
{
	if (state.last.valid && state.last.level == level && strcmp(state.last.text, text) == 0) {
		state.last.repeats++;
		return;
	}
	say_plain(level, text);
	state.last.valid = true;
	state.last.level = level;
	state.last.since = state.now;
	snprintf(state.last.text, sizeof(state.last.text), "%s", text);
}

/* As say(), for our own words. */
__attribute__((format(printf, 1, 2))) static void sum_up(const char *format, ...)
{
	char text[TEXT];
	va_list args;

	va_start(args, format);
	compose(text, format, args);
	va_end(args);
	say_plain(LOG_LEVEL_WARN, text);
}

static bool over(uint64_t since, unsigned length)
{
	return state.now - since >= length;
}

static bool span_full(struct span *span, unsigned length, unsigned limit)
{
	if (over(span->since, length))
		*span = (struct span){ .since = state.now };
	return span->lines >= limit;
}

/* May this ration, and all peers together, have one line more? Then it is taken. */
static bool peer_may(struct span *ration)
{
	bool full = span_full(ration, MINUTE, PER_KIND);

	full |= span_full(&state.second, SECOND, PER_SECOND);
	full |= span_full(&state.minute, MINUTE, PER_MINUTE);
	if (full)
		return false;
	ration->lines++;
	state.second.lines++;
	state.minute.lines++;
	return true;
}

static void tell_ration(struct ration *ration)
{
	if (ration->more > 0)
		sum_up("%u more in the last minute like: %s", ration->more, ration->sample);
	ration->more = 0;
}

static void tell_handshakes(void)
{
	/* The words differ from log_handshake()'s: fail2ban must not count this line. */
	if (state.handshakes.more > 0)
		sum_up("%u more handshakes in the last minute failed, from %u addresses",
		       state.handshakes.more, state.handshakes.addresses);
	state.handshakes.more = state.handshakes.addresses = 0;
}

/* The entry of this address, or the one of its set that was not used for longest. */
static struct culprit *culprit_find(const char *ip)
{
	struct culprit *set, *oldest;
	uint32_t hash = 2166136261u; /* FNV-1a: whoever finds collisions gains ten lines */

	for (const char *p = ip; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	set = oldest = state.handshakes.table[(hash ^ hash >> 16) % SETS];
	for (int i = 0; i < WAYS; i++) {
		if (strcmp(set[i].ip, ip) == 0)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	*oldest = (struct culprit){ .span.since = state.now };
	snprintf(oldest->ip, sizeof(oldest->ip), "%s", ip);
	return oldest;
}

static void log_line(enum log_level level, const char *format, va_list args)
{
	char text[TEXT];
	int saved = errno;

	if (level == LOG_LEVEL_DEBUG && !state.verbose)
		return;
	compose(text, format, args);
	if (level == LOG_LEVEL_INFO)
		say_plain(level, text); /* the line of state answers whoever asked, each time */
	else
		say(level, text);
	errno = saved;
}

void log_open(const char *ident, bool use_syslog, bool verbose)
{
	tzset();
	signal(SIGPIPE, SIG_IGN);
	state.verbose = verbose;
	state.to_syslog = use_syslog;
	state.colour[STDOUT_FILENO] = isatty(STDOUT_FILENO) == 1;
	state.colour[STDERR_FILENO] = isatty(STDERR_FILENO) == 1;
	if (use_syslog)
		syslog_open(_PATH_LOG, ident);
}

bool log_verbose(void)
{
	return state.verbose;
}

void log_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(LOG_LEVEL_ERROR, format, args);
	va_end(args);
}

void log_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(LOG_LEVEL_WARN, format, args);
	va_end(args);
}

void log_info(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(LOG_LEVEL_INFO, format, args);
	va_end(args);
}

void log_debug(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(LOG_LEVEL_DEBUG, format, args);
	va_end(args);
}

void log_peer(unsigned kind, const char *format, ...)
{
	struct ration *ration = &state.kinds[kind % KINDS];
	char text[TEXT];
	int saved = errno;
	va_list args;

	va_start(args, format);
	compose(text, format, args);
	va_end(args);
	if (over(ration->span.since, MINUTE))
		tell_ration(ration);
	if (peer_may(&ration->span))
		say(LOG_LEVEL_WARN, text);
	else if (ration->more++ == 0)
		snprintf(ration->sample, sizeof(ration->sample), "%.*s", SAMPLE - 1, text);
	errno = saved;
}

void log_handshake(const char *ip, const char *reason)
{
	struct culprit *culprit = culprit_find(ip);
	char text[TEXT];
	int saved = errno;

	culprit->used = state.now;
	if (over(culprit->span.since, MINUTE))
		culprit->more = false;
	if (peer_may(&culprit->span)) {
		snprintf(text, sizeof(text), "failed to handshake with %s: %s", ip, reason);
		text_make_printable(text);
		say_plain(LOG_LEVEL_ERROR, text);
	} else {
		if (state.handshakes.more++ == 0)
			state.handshakes.since = state.now;
		state.handshakes.addresses += !culprit->more;
		culprit->more = true;
	}
	errno = saved;
}

void log_flush(unsigned long long now)
{
	int saved = errno;

	state.now = now;
	if (over(state.last.since, FOLD_TIME)) {
		/* One that comes again after a silence is written again. */
		state.last.valid &= state.last.repeats > 0;
		tell_repeats();
	}
	for (int i = 0; i < KINDS; i++) {
		if (over(state.kinds[i].span.since, MINUTE))
			tell_ration(&state.kinds[i]);
	}
	if (over(state.handshakes.since, MINUTE))
		tell_handshakes();
	errno = saved;
}

void log_close(void)
{
	tell_repeats();
	for (int i = 0; i < KINDS; i++)
		tell_ration(&state.kinds[i]);
	tell_handshakes();
}

void die(const char *format, ...)
{
	char text[TEXT];
	va_list args;

	va_start(args, format);
	compose(text, format, args);
	va_end(args);
	log_close();
	/* Also a daemon's error stream is still the terminal of whoever starts it. */
	if (state.to_syslog)
		syslog_write(LOG_ERR, text);
	stream_write(LOG_LEVEL_ERROR, text);
	exit(255);
}
