/*
 * The salts of SIP022 requests of the last minute (PROTOCOL 5.3). Exact, unlike net/replay.h: a
 * request is refused for its salt only if that very salt came before. Only salts of requests that
 * proved to be right enter; when there is no room for another, it is refused: nothing is forgotten
 * early. Shared with processes forked later; memory is touched as it is needed. No I/O.
 */
#ifndef NET_SALTS_H
#define NET_SALTS_H

#include <stddef.h>
#include <stdint.h>

enum {
	SALTS_LIFE = 60, /* seconds: a timestamp may be half of that old, or ahead */
	SALTS_LEN = 32	 /* bytes of the longest salt */
};

struct salts;

/* Room for so many salts, 1 to 2^31; 52 bytes each, which are reserved, not touched. NULL with errno.
 * crypto_open() has run. */
struct salts *salts_open(uint32_t capacity);
void salts_close(struct salts *salts);

/* 0: this salt (1..SALTS_LEN bytes) was not seen in the last SALTS_LIFE seconds, and is remembered from
 * now on. -1: it was, or there is no room. `now` is Unix time in seconds, by the clock that judges the
 * timestamps: if that is set anew, both judge alike. */
int salts_add(struct salts *salts, const unsigned char *salt, size_t n, uint64_t now);

/* Salts held now, for the line of state; some may be older than SALTS_LIFE. */
uint32_t salts_count(const struct salts *salts);

#endif
