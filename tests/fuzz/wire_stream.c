/* A stream cipher's peer: the input picks a method and cuts, the rest is what is sealed. However the
 * stream is cut, what is opened is what was sealed; the same bytes, taken as they are for a stream and
 * for a packet, open to something, which is read as an address. */
#include "net/packet.h"

#include "core/slab.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE = 8192, METHODS_MAX = 64 };

/* The key of the n-th method; kept for the next input, since to expand one may take milliseconds. */
static struct wire_key *pick(unsigned n)
{
	static const unsigned char secret[WIRE_KEY_MAX] = "not so secret";
	static struct wire_key keys[METHODS_MAX];
	static unsigned count;
	static bool made;
	const struct wire_method *m;

	for (unsigned i = 0; !made && (m = wire_list(i)); i++)
		if (m->format == &wire_stream && wire_built(m)) {
			assert(count < METHODS_MAX);
			assert(wire_key_set(&keys[count++], m, secret) == 0);
		}
	made = true;
	return &keys[n % count];
}

/* Open wire[0..n) in pieces of the sizes that `cuts` gives, and read an address from it. */
static size_t feed(const struct wire_key *key, const unsigned char *wire, size_t n, uint8_t cuts,
		   unsigned char *to)
{
	struct wire_state state = { 0 };
	struct wire_opened opened;
	struct iovec iov[WIRE_IOV];
	struct endpoint endpoint;
	size_t held = 0, total = 0;

	for (size_t at = 0; at < n; cuts = (uint8_t)(cuts * 5 + 1)) {
		size_t take = 1u + cuts < n - at ? 1u + cuts : n - at;
		unsigned char *exact = malloc(held + take);

		memcpy(exact, wire + at - held, held + take);
		assert(wire_open(key, &state, exact, held + take, iov, &opened) == 0);
		if (opened.iovs)
			memcpy(to + total, iov[0].iov_base, iov[0].iov_len);
		total += opened.payload;
		at += take;
		held += take - opened.used;
		free(exact);
	}
	wire_wipe(&state);
	endpoint_read(&endpoint, to, total);
	return total;
}

static void packet(const struct wire_key *key, const uint8_t *data, size_t size)
{
	unsigned char *exact = malloc(size + 1);
	struct packet_peer peer = { 0 };
	struct packet_front front;
	struct packet_opened opened;

	memcpy(exact, data, size);
	if (key->format->packets->begin(key, exact, size, &front) == 0 &&
	    key->format->packets->open(key, NULL, &peer, &front, exact, size, &opened) == 0)
		assert(opened.payload + opened.n == exact + size);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char sealed[SIZE + WIRE_FIRST_ROOM], opened[SIZE + WIRE_FIRST_ROOM];
	static struct slab leases;
	struct wire_state up = { 0 };
	struct wire_key *key;
	size_t n;

	if (size < 3 || size > SIZE)
		return 0;
	assert(crypto_open() == 0);
	key = pick(data[0]);
	if (wire_lease_size(key) > 0) {
		assert(leases.base || slab_open(&leases, wire_lease_size(key), 2) == 0);
		key->leases = &leases;
	}
	n = wire_first(key, &up, NULL, data + 2, size - 2, sealed);
	wire_wipe(&up);
	assert(feed(key, sealed, n, data[1], opened) == size - 2);
	assert(memcmp(opened, data + 2, size - 2) == 0);
	feed(key, data + 2, size - 2, data[1], opened);
	packet(key, data + 2, size - 2);
	return 0;
}
