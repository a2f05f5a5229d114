/*
 * See packet.h: the way from a key to its family, and what clients do alike in all families. Owns
 * nothing. No I/O.
 */
#include "net/packet.h"

#include <sodium.h>
#include <string.h>

enum { SILENT_FOR = 60000 /* ms until the place of a server session may be taken */ };

unsigned char *packet_seal(const struct wire_key *key, struct packet_own *own,
			   const struct packet_peer *to, const struct endpoint *address,
			   unsigned char *payload, size_t n, size_t *length)
{
	return key->format->packets->seal(key, own, to, address, payload, n, length);
}

int packet_begin(const struct wire_key *key, unsigned char *buf, size_t n,
		 struct packet_front *front)
{
	*front = (struct packet_front){ 0 };
	return key->format->packets->begin(key, buf, n, front);
}

int packet_open(const struct wire_key *key, const struct packet_own *own, struct packet_peer *peer,
		const struct packet_front *front, unsigned char *buf, size_t n,
		struct packet_opened *opened)
{
	return key->format->packets->open(key, own, peer, front, buf, n, opened);
}

/* The session of this ID, or NULL. */
static struct packet_peer *find(struct packet_peer peers[PACKET_PEERS],
				const unsigned char id[PACKET_ID])
{
	for (int i = 0; i < PACKET_PEERS; i++)
		if (peers[i].known && memcmp(peers[i].id, id, PACKET_ID) == 0)
			return &peers[i];
	return NULL;
}

/* A place for another session, or NULL. */
static struct packet_peer *place(struct packet_peer peers[PACKET_PEERS], uint64_t now)
{
	struct packet_peer *older = &peers[peers[1].heard < peers[0].heard];

	for (int i = 0; i < PACKET_PEERS; i++)
		if (!peers[i].known)
			return &peers[i];
	return now - older->heard > SILENT_FOR ? older : NULL;
}

int packet_open_answer(const struct wire_key *key, const struct packet_own *own,
		       struct packet_peer peers[PACKET_PEERS], uint64_t now, unsigned char *buf,
		       size_t n, struct packet_opened *opened)
{
	struct packet_peer fresh = { 0 }, *known = NULL, *to = NULL;
	struct packet_front front;
	int result;

	if (packet_begin(key, buf, n, &front) < 0)
		return -1;
	if (front.has_id) {
		known = find(peers, front.id);
		to = known ? known : place(peers, now);
		if (!to)
			return -1;
	}
	result = packet_open(key, own, known ? known : &fresh, &front, buf, n, opened);
	if (result == 0 && to) {
		if (!known)
			*to = fresh;
		to->heard = now;
	}
	sodium_memzero(&fresh, sizeof fresh);
	return result;
}
