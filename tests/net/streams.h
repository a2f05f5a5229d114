/*
 * Streams of sealed chunks for the tests of the formats that have them: sealed as a flow does it, cut in
 * all ways, and opened as they come.
 */
#ifndef TESTS_NET_STREAMS_H
#define TESTS_NET_STREAMS_H

#include "net/wire.h"

#include "tests/unit.h"

#include <sodium.h>

enum { BIG = 300000 };

/* Ways to cut a stream. */
enum cut { WHOLE, BYTES, RANDOM, CUTS };

struct got {
	unsigned char *bytes;
	size_t n;
	int result; /* 0: a clean end; 1: an unfinished unit; -1: refused */
};

static const struct endpoint example = {
	.port = 80, .type = ENDPOINT_NAME, .len = 11, .host = "example.com"
};

static unsigned char sealed[BIG], opened_bytes[BIG], plain[BIG];

/* Seal text[0..n) as a flow does: into the slots, then in place. */
static inline size_t seal(const struct wire_key *key, struct wire_state *state,
			  const unsigned char *text, size_t n, unsigned char *buf, size_t size)
{
	struct iovec iov[WIRE_IOV];
	int slots = wire_slots(key, buf, size, n, iov);
	size_t left = n;

	for (int i = 0; i < slots; i++) {
		assert_in_range(iov[i].iov_len, 1, left);
		memcpy(iov[i].iov_base, text, iov[i].iov_len);
		text += iov[i].iov_len;
		left -= iov[i].iov_len;
	}
	assert_int_equal(left, 0);
	return wire_seal(key, state, buf, n);
}

/* One call, on memory that ends where the bytes end; *held keeps what is not used. */
static inline int open_once(const struct wire_key *key, struct wire_state *state,
			    unsigned char *held, size_t *held_n, struct wire_opened *opened,
			    struct got *got)
{
	struct iovec iov[WIRE_IOV];
	unsigned char *exact = malloc(*held_n ? *held_n : 1);
	size_t total = 0;

	assert_non_null(exact);
	memcpy(exact, held, *held_n);
	if (wire_open(key, state, exact, *held_n, iov, opened) < 0) {
		free(exact);
		return -1;
	}
	assert_in_range(opened->iovs, 0, WIRE_IOV);
	assert_true(opened->used <= *held_n);
	for (int i = 0; i < opened->iovs; i++) {
		assert_true(iov[i].iov_len > 0);
		memcpy(got->bytes + got->n, iov[i].iov_base, iov[i].iov_len);
		got->n += iov[i].iov_len;
		total += iov[i].iov_len;
	}
	assert_int_equal(total, opened->payload);
	memcpy(held, exact + opened->used, *held_n - opened->used);
	*held_n -= opened->used;
	free(exact);
	return 0;
}

static inline size_t cut_size(enum cut cut, size_t left)
{
	size_t n = cut == WHOLE ? left : cut == BYTES ? 1 : 1 + randombytes_uniform(90);

	return n < left ? n : left;
}

/* Read a stream as a flow does. */
static inline struct got open_stream(const struct wire_key *key, struct wire_state *state,
				     const unsigned char *wire, size_t n, enum cut cut)
{
	static unsigned char held[BIG];
	struct got got = { .bytes = opened_bytes };
	struct wire_opened opened;
	size_t held_n = 0;

	assert_int_equal(open_once(key, state, held, &held_n, &opened, &got), 0);
	while (n > 0) {
		size_t take = cut_size(cut, n);

		memcpy(held + held_n, wire, take);
		held_n += take;
		wire += take;
		n -= take;
		if (held_n < opened.need && held_n > 64)
			continue; /* calls for nothing were made often enough */
		do {
			size_t need = opened.need;

			if (open_once(key, state, held, &held_n, &opened, &got) < 0) {
				assert_int_equal(open_once(key, state, held, &held_n, &opened,
							   &got),
						 -1);
				got.result = -1;
				return got;
			}
			/* what is needed is neither too little nor too much */
			if (held_n + opened.used < need)
				assert_int_equal(opened.used, 0);
			else
				assert_true(opened.used > 0);
		} while (held_n >= opened.need);
	}
	got.result = held_n == 0 && !state->length_open ? 0 : 1;
	return got;
}

#endif
