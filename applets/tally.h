/*
 * What each port of a manager has passed, kept across restarts: in memory shared with a small process
 * that writes it to a file, so that serving never waits for a disk, and that does so once more when
 * the manager ends, however it ends.
 */
#ifndef APPLETS_TALLY_H
#define APPLETS_TALLY_H

#include "net/service.h"

#include <sys/types.h>

struct tally;

/* Memory for the counters of all ports, zero. NULL with errno. */
struct tally *tally_open(void);

/* Where port `number` counts. */
struct traffic *tally_of(struct tally *tally, uint16_t number);

/* Add what the file has, and keep it up to date from now on. Dies if the file is there and cannot
 * be read, and only warns if it cannot be written, or if another tally is kept in this directory:
 * then it is left to that. */
void tally_keep(struct tally *tally, const char *path);

/* Is it the process that writes? Then somebody ended it, and another takes its place. */
void tally_reap(struct tally *tally, pid_t pid);

/* Write for the last time. */
void tally_close(struct tally *tally);

#endif
