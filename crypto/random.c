/*
 * See random.h. Called by the formats of datagrams; owns one page of memory.
 */
#include "crypto/random.h"

#include "core/pages.h"
#include "crypto/stream_words.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	KEY = 32,
	STOCK = 1024,  /* bytes made at a time, the next key first */
	REFILLS = 1024 /* until the kernel is asked for a key again */
};

static struct stock {
	uint32_t left, refills; /* bytes at the end; 0 in a child, which so asks the kernel */
	unsigned char bytes[STOCK];
} * stock;

void random_open(void)
{
	struct stock *page;

	if (stock)
		return;
	page = pages_reserve(sizeof *page);
	if (page && pages_hide_from_children(page, sizeof *page))
		stock = page;
	else if (page)
		pages_release(page, sizeof *page);
}

static void refill(void)
{
	static const unsigned char nonce[8];
	unsigned char key[KEY];

	if (stock->refills == 0) {
		randombytes_buf(key, sizeof key);
		stock->refills = REFILLS;
	} else {
		memcpy(key, stock->bytes, sizeof key);
	}
	memset(stock->bytes, 0, STOCK);
	chacha20_xor(key, nonce, 0, 0, stock->bytes, STOCK);
	stock->left = STOCK - KEY;
	stock->refills--;
	sodium_memzero(key, sizeof key);
}

void random_bytes(void *to, size_t n)
{
	unsigned char *at;

	if (!stock || n > STOCK - KEY) {
		randombytes_buf(to, n);
		return;
	}
	if (stock->left < n)
		refill();
	at = stock->bytes + STOCK - stock->left;
	memcpy(to, at, n);
	memset(at, 0, n); /* given out, and known here no more */
	stock->left -= (uint32_t)n;
}
