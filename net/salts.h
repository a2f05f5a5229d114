/*
 * The salts of SIP022 requests of the last minute (SIP022, TCP: replay protection). Exact, unlike
 * net/replay.h: a request is refused for its salt only if that very salt came before. Only salts of
 * requests that proved to be right enter; when there is no room for another, it is refused: nothing
 * is forgotten early, nor because a clock was set. Shared with processes forked later; memory is
 * touched as it is needed. No I/O.
 */
#ifndef NET_SALTS_H
#define NET_SALTS_H

#include <stddef.h>
#include <stdint.h>

enum {
	SALTS_LIFE = 60,       /* seconds: a timestamp may be half of that old, or ahead */
	SALTS_LEAST = 1 << 16, /* a capacity that one busy user does not fill for all others */
	SALTS_BYTES = 60,      /* of memory for each */
	SALTS_LEN = 32	       /* bytes of the longest salt */
};

struct salts;

enum salts_result {
	SALTS_NEW,   /* not seen before, and remembered from now on */
	SALTS_SEEN,  /* it came before */
	SALTS_FULL,  /* there is no room to remember it */
	SALTS_UNSURE /* the clock was set back: whether it came before is not known any more */
};

/* Both in seconds: Unix time, which judges the timestamps and may be set; and a clock that never
 * steps, the same in all processes. */
struct salts_now {
	uint64_t clock, steady;
};

/* Room for so many salts, 1 to 2^31; SALTS_BYTES each, which are reserved, not touched. NULL with
 * errno. crypto_open() has run. */
struct salts *salts_open(uint32_t capacity);
void salts_close(struct salts *salts);

/* Processes that are forked from now on use it together. 0, or -1 with errno: it cannot be. */
int salts_share(struct salts *salts);

/* A request with this salt (1..SALTS_LEN bytes) and this timestamp, which is timely. It is
 * remembered until SALTS_LIFE seconds have passed by both clocks, and by the first of them since
 * its timestamp. */
enum salts_result salts_add(struct salts *salts, const unsigned char *salt, size_t n,
			    uint64_t stamp, struct salts_now now);

/* Salts held now, for the line of state; some may be older than SALTS_LIFE. And how many could
 * be. */
uint32_t salts_count(const struct salts *salts);
uint32_t salts_capacity(const struct salts *salts);

#endif
