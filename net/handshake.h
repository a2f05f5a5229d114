/*
 * The first bytes of a near side, before there is a relay: plain (SOCKS) or sealed.
 */
#ifndef NET_HANDSHAKE_H
#define NET_HANDSHAKE_H

#include "net/role.h"

#include <stddef.h>

struct session;

/* Read plain bytes into session->shake until it holds `limit` (<= SESSION_SHAKE) or nothing more is
 * there. DONE: bytes were added. WAIT. FAIL: the near side left, or failed. */
enum step handshake_read(struct session *session, size_t limit);

/* Drop the first `n` bytes of session->shake: they were used. */
void handshake_use(struct session *session, size_t n);

/* Write a short plain answer to the near side, whole; a near side that does not take it has
 * failed. */
enum step handshake_answer(struct session *session, const void *bytes, size_t n);

/* The target step of a role whose near side is sealed: read and open the first bytes and read the
 * address from them. What follows the address is held by the upward flow. */
enum step handshake_open(struct session *session);

/* Read and discard, answer nothing. DONE: the near side left. WAIT: not yet. */
enum step handshake_discard(struct session *session);

#endif
