/*
 * Stream ciphers, which are older than the SIPs:
 *
 *	each direction: IV, then the encrypted stream, however it is cut
 *	each packet:    IV, then the encrypted header and payload
 *
 * Called through wire.c and packet.c. Nothing is authenticated here: whatever comes opens to
 * something, and only an address that makes sense tells a friend from noise, wrongly once in a
 * hundred times. Expanded keys live as long as the key. A state that does not fit into a wire_state
 * (RC4's) is leased from key->leases and given back when the direction is wiped. No I/O.
 */
#include "net/packet.h"

#include "core/list.h"
#include "core/slab.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

/* An object of key->leases. */
struct lease {
	struct slab *home;
	unsigned char extra[STREAM_EXTRA_MAX];
};

size_t wire_lease_size(const struct wire_key *key)
{
	return key->stream && stream_extra(key->stream) > 0 ? sizeof(struct lease) : 0;
}

/* Start a direction with its IV. There are two leases for each session, so one is free. */
static void begin(const struct wire_key *key, struct wire_state *state, const unsigned char *iv)
{
	if (stream_extra(key->stream) > 0) {
		struct lease *lease = slab_take(key->leases);

		assert(lease);
		lease->home = key->leases;
		state->stream.extra = lease->extra;
		state->leased = true;
	}
	stream_begin(key->stream, key->schedule, &state->stream, iv);
	state->begun = true;
}

void wire_stream_return(struct wire_state *state)
{
	unsigned char *extra = state->stream.extra;
	struct lease *lease = container_of(extra, struct lease, extra[0]);
	struct slab *home = lease->home;

	sodium_memzero(lease, sizeof *lease);
	slab_give(home, lease);
	state->leased = false;
}

/* A zero-length IV is no sign of a replay: all have the same. */
static bool seen(struct replay *replay, const struct wire_key *key, const unsigned char *iv)
{
	return replay && key->salt_len > 0 && replay_seen(replay, iv, key->salt_len);
}

static int stream_slots(const struct wire_key *key, unsigned char *buf, size_t size, size_t batch,
			struct iovec *iov)
{
	(void)key;
	*iov = (struct iovec){ .iov_base = buf, .iov_len = size < batch ? size : batch };
	return iov->iov_len > 0;
}

static size_t stream_seal(const struct wire_key *key, struct wire_state *state, unsigned char *buf,
			  size_t n)
{
	stream_encrypt(key->stream, key->schedule, &state->stream, buf, n);
	return n;
}

static size_t stream_first(const struct wire_key *key, struct wire_state *state,
			   const struct endpoint *header, const unsigned char *payload, size_t n,
			   unsigned char *buf)
{
	unsigned char *text = buf + key->salt_len;
	size_t header_len = header ? endpoint_write(header, text) : 0;

	if (n > 0)
		memcpy(text + header_len, payload, n);
	/* Some servers answer under the request's own IV: a client's may come back once. */
	wire_fresh_salt(key, key->server ? key->replay : NULL, buf);
	begin(key, state, buf);
	return key->salt_len + stream_seal(key, state, text, header_len + n);
}

static int stream_open(const struct wire_key *key, struct wire_state *state, unsigned char *buf,
		       size_t n, struct iovec *iov, struct wire_opened *opened)
{
	size_t iv = state->begun ? 0 : key->salt_len;

	*opened = (struct wire_opened){ .need = iv + 1 };
	if (state->broken)
		return -1;
	if (n < opened->need)
		return 0;

	/* Only an IV that came with something is remembered. */
	if (!state->begun && seen(key->replay, key, buf)) {
		state->broken = true;
		return -1;
	}
	if (!state->begun)
		begin(key, state, buf);
	stream_decrypt(key->stream, key->schedule, &state->stream, buf + iv, n - iv);
	iov[0] = (struct iovec){ .iov_base = buf + iv, .iov_len = n - iv };
	*opened = (struct wire_opened){ .iovs = 1, .payload = n - iv, .used = n, .need = 1 };
	return 0;
}

/* A packet is a stream of its own. */
static void packet_apply(const struct wire_key *key, const unsigned char *iv, unsigned char *text,
			 size_t n, bool opens)
{
	unsigned char extra[STREAM_EXTRA_MAX];
	struct stream_state state;

	if (stream_extra(key->stream) > 0)
		state.extra = extra;
	stream_begin(key->stream, key->schedule, &state, iv);
	(opens ? stream_decrypt : stream_encrypt)(key->stream, key->schedule, &state, text, n);
	sodium_memzero(&state, sizeof state);
	if (stream_extra(key->stream) > 0)
		sodium_memzero(extra, sizeof extra);
}

static unsigned char *packet_seal_stream(const struct wire_key *key, struct packet_own *own,
					 const struct packet_peer *to,
					 const struct endpoint *address, unsigned char *payload,
					 size_t n, size_t *length)
{
	unsigned char header[ENDPOINT_WIRE_MAX];
	size_t header_len = endpoint_write(address, header);
	unsigned char *text = payload - header_len, *start = text - key->salt_len;

	(void)own, (void)to;
	memcpy(text, header, header_len);
	wire_fresh_salt(key, key->packet_replay, start);
	packet_apply(key, start, text, header_len + n, false);
	*length = key->salt_len + header_len + n;
	return start;
}

static int packet_begin_stream(const struct wire_key *key, unsigned char *buf, size_t n,
			       struct packet_front *front)
{
	(void)buf;
	*front = (struct packet_front){ .at = key->salt_len };
	return n > key->salt_len ? 0 : -1;
}

/* What opens to no address is not remembered: noise costs nothing. */
static int packet_open_stream(const struct wire_key *key, const struct packet_own *own,
			      struct packet_peer *peer, const struct packet_front *front,
			      unsigned char *buf, size_t n, struct packet_opened *opened)
{
	unsigned char *text = buf + front->at;
	int header;

	(void)own, (void)peer;
	packet_apply(key, buf, text, n - front->at, true);
	header = endpoint_read(&opened->address, text, n - front->at);
	if (header <= 0 || seen(key->packet_replay, key, buf))
		return -1;
	opened->payload = text + header;
	opened->n = n - front->at - (size_t)header;
	return 0;
}

const struct packet_format packet_stream = {
	.seal = packet_seal_stream,
	.begin = packet_begin_stream,
	.open = packet_open_stream,
};

const struct wire_format wire_stream = {
	.packets = &packet_stream,
	.forgeable = true,
	.slots = stream_slots,
	.seal = stream_seal,
	.first = stream_first,
	.open = stream_open,
};
