/*
 * See tally.h. The file: a line for each port that has passed anything, with its number, bytes up and
 * bytes down. It is replaced whole, by a file that has reached the disk.
 */
#include "applets/tally.h"

#include "core/file.h"
#include "core/log.h"
#include "core/process.h"
#include "core/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PORTS = 1 << 16, EVERY = 10000 /* ms between looks whether something has changed */ };

struct tally {
	struct traffic *all; /* shared */
	char *path, *fresh;  /* the file, and what is to take its place */
	uint64_t saved;	     /* sum() of what the file has, as the keeper begins */
	pid_t keeper;
	int end;
	int lock; /* the directory of the file, which is ours alone; -1: that cannot be told */
};

struct tally *tally_open(void)
{
	struct tally *tally = calloc(1, sizeof *tally);

	if (!tally)
		return NULL;
	tally->lock = -1;
	tally->all = shared_map(PORTS * sizeof *tally->all);
	if (!tally->all) {
		free(tally);
		return NULL;
	}
	return tally;
}

struct traffic *tally_of(struct tally *tally, uint16_t number)
{
	return &tally->all[number];
}

/* --- the file */

/* Where a number takes two reads, it may change in between. */
static uint64_t steady(const volatile uint64_t *number)
{
	uint64_t one, other;

	do {
		one = *number;
		other = *number;
	} while (one != other);
	return one;
}

static bool put_all(const struct tally *tally, FILE *file)
{
	fputs("# port, bytes up, bytes down: written by ss-manager\n", file);
	for (unsigned i = 0; i < PORTS; i++) {
		uint64_t up = steady(&tally->all[i].up), down = steady(&tally->all[i].down);

		if (up || down)
			fprintf(file, "%u %" PRIu64 " %" PRIu64 "\n", i, up, down);
	}
	return file_written(file) && fsync(fileno(file)) == 0;
}

static int open_directory(const char *path)
{
	char directory[4096];
	const char *slash = strrchr(path, '/');

	snprintf(directory, sizeof directory, "%.*s/", slash ? (int)(slash - path) : 1,
		 slash ? path : ".");
	return open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The new name is to reach the disk as well. */
static void sync_directory(const char *path)
{
	int fd = open_directory(path);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

static int save(const struct tally *tally)
{
	int fd = open(tally->fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	bool good = file && put_all(tally, file);

	if (file)
		fclose(file);
	if (!good || rename(tally->fresh, tally->path) < 0) {
		log_warn("the counters cannot be kept in %s: %s", tally->path, strerror(errno));
		return -1;
	}
	sync_directory(tally->path);
	return 0;
}

/* A number, and what ends it. */
static bool take_number(const char **text, char end, uint64_t *value)
{
	char *behind;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*value = strtoull(*text, &behind, 10);
	*text = behind + 1;
	return errno == 0 && *behind == end;
}

/* One line; false if it is none. */
static bool take_line(struct tally *tally, const char *line)
{
	uint64_t port, up, down;

	if (*line == '#')
		return true;
	if (!take_number(&line, ' ', &port) || !take_number(&line, ' ', &up) ||
	    !take_number(&line, '\n', &down) || port < 1 || port >= PORTS)
		return false;
	tally->all[port].up += up;
	tally->all[port].down += down;
	return true;
}

static void load(struct tally *tally)
{
	int fd = open(tally->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[80];
	bool good = true;

	if (!file && errno != ENOENT)
		die("the counters in %s cannot be read: %s", tally->path, strerror(errno));
	while (file && good && fgets(line, sizeof line, file))
		good = take_line(tally, line);
	if (!good)
		log_warn("the counters in %s are damaged: what follows is not read: %.20s",
			 tally->path, line);
	if (file)
		fclose(file);
}

/* --- the process */

/* Tells, as far as a sum can, whether something has changed. */
static uint64_t sum(const struct tally *tally)
{
	uint64_t all = 0;

	for (uint64_t i = 0; i < PORTS; i++)
		all += (tally->all[i].up + tally->all[i].down) * (2 * i + 1);
	return all;
}

static int keep(int end, void *arg)
{
	const struct tally *tally = arg;
	struct pollfd look = { .fd = end, .events = POLLIN };
	uint64_t saved = tally->saved;
	int ended;

	do {
		ended = poll(&look, 1, EVERY);
		uint64_t now = sum(tally);

		if (now != saved && save(tally) == 0)
			saved = now;
	} while (ended == 0 || (ended < 0 && errno == EINTR));
	return 0;
}

static void start(struct tally *tally, uint64_t saved)
{
	tally->saved = saved;
	tally->keeper = process_helper(&tally->end, keep, tally);
	if (tally->keeper < 0)
		log_warn("the counters are not kept before the end: %s", strerror(errno));
}

/* The file itself is replaced all the time. Some file systems have no locks; only what another
 * holds is a reason to stay away. */
static bool is_anothers(struct tally *tally, const char *path)
{
	tally->lock = open_directory(path);
	return tally->lock >= 0 && flock(tally->lock, LOCK_EX | LOCK_NB) < 0 &&
	       errno == EWOULDBLOCK;
}

void tally_keep(struct tally *tally, const char *path)
{
	if (is_anothers(tally, path)) {
		log_warn("another manager keeps its counters in %s: those of this one end with it, "
			 "unless it has a working directory of its own (-D)",
			 path);
		return;
	}
	if (asprintf(&tally->path, "%s", path) < 0 || asprintf(&tally->fresh, "%s.new", path) < 0)
		die("no memory for the name of a file");
	load(tally);
	start(tally, sum(tally));
}

void tally_reap(struct tally *tally, pid_t pid)
{
	if (tally->keeper <= 0 || pid != tally->keeper)
		return;
	log_warn("the process that keeps the counters has been ended: another takes its place");
	close(tally->end);
	start(tally, ~sum(tally)); /* who knows */
}

void tally_close(struct tally *tally)
{
	if (tally->keeper > 0) {
		close(tally->end);
		while (waitpid(tally->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	} else if (tally->path) {
		save(tally);
	}
	if (tally->lock >= 0)
		close(tally->lock);
	shared_unmap(tally->all, PORTS * sizeof *tally->all);
	free(tally->path);
	free(tally->fresh);
	free(tally);
}
