/*
 * A peer that knows the key of a SIP022 server, or user, or client (see script.h): the input writes the
 * plaintext of the headers, too. An input begins with the method and what is odd about the header; then
 * come the fields that are odd, the length of the variable header and its bytes, and the script.
 */
#include "tests/fuzz/script.h"

#include "net/sip022.h"

enum { NOW = 1700000000, ODD_TYPE = 8, ODD_STAMP = 16, ODD_LENGTH = 32, USERS = 64, ANSWER = 128 };

static const unsigned char secret[WIRE_KEY_MAX] = "not so secret", hers[WIRE_KEY_MAX] = "hers";
static const unsigned char request_salt[WIRE_SALT_MAX] = "of the request";

static uint64_t fixed_clock(void)
{
	return NOW;
}

/* The table of a server with one user; it is kept for the next input. */
static struct users *her_table(size_t key_len)
{
	static struct users *tables[WIRE_KEY_MAX + 1];

	if (!tables[key_len]) {
		tables[key_len] = users_open(1);
		assert(tables[key_len]);
		assert(users_add(tables[key_len], "she", hers, key_len) == USERS_ADDED);
	}
	return tables[key_len];
}

/* Salt, identity header, type and timestamp, up to the length. */
static unsigned char *put_front(struct script *s, unsigned flags, const struct user *user)
{
	unsigned char subkey[WIRE_KEY_MAX], *at = s->wire;

	memcpy(at, "any salt", 8);
	memset(at + 8, 0, s->key.salt_len - 8u);
	sip022_session_subkey(&s->key, user ? hers : secret, at, s->key.salt_len, s->seal.subkey);
	sip022_identity_subkey(&s->key, secret, at, s->key.salt_len, subkey);
	at += s->key.salt_len;
	if (user) {
		memcpy(at, user->hash, AES_BLOCK);
		aes_encrypt_block(subkey, s->key.key_len, at);
		at += AES_BLOCK;
	}
	s->wire_n = (size_t)(at - s->wire);
	at[0] = flags & ODD_TYPE ? script_next(s) : flags & ANSWER ? SIP022_ANSWER : SIP022_REQUEST;
	put_u64be(at + 1, NOW + (uint64_t)(flags & ODD_STAMP ? (int8_t)script_next(s) : 0));
	s->damaged = at[0] != (flags & ANSWER ? SIP022_ANSWER : SIP022_REQUEST) ||
		     !sip022_timely(at + 1, NOW);
	return at + 9;
}

/* What the receiver must find in the variable header text[0..n): everything, or nothing. */
static void expect_variable(struct script *s, const unsigned char *text, size_t n)
{
	struct endpoint address;
	int used = endpoint_read(&address, text, n);
	size_t padding, header;

	if (used <= 0 || (size_t)used + 2 >= n) {
		s->damaged = true;
		return;
	}
	padding = get_u16be(text + used);
	header = (size_t)used + 2 + padding;
	if (header > n) {
		s->damaged = true;
		return;
	}
	script_expect(s, text, (size_t)used);
	script_expect(s, text + header, n - header);
}

static void put_request(struct script *s, unsigned flags, unsigned char *length)
{
	unsigned char text[1024];
	size_t n = script_copy(s, text, (size_t)(script_next(s) << 2 | (flags >> 3 & 3)));

	put_u16be(length, (uint16_t)n);
	if (flags & ODD_LENGTH)
		put_u16be(length, (uint16_t)(script_next(s) << 8 | script_next(s)));
	s->damaged |= get_u16be(length) != n;
	script_box(s, 11);
	memcpy(s->wire + s->wire_n, text, n);
	script_box(s, n);
	expect_variable(s, text, n);
}

static void put_answer(struct script *s, unsigned flags, unsigned char *salt)
{
	unsigned char *length = salt + s->key.salt_len, text[1024];
	size_t n = script_copy(s, text, (size_t)(script_next(s) << 2 | (flags >> 3 & 3)));

	memcpy(salt, request_salt, s->key.salt_len);
	put_u16be(length, (uint16_t)n);
	if (flags & ODD_LENGTH) {
		salt[script_next(s) % s->key.salt_len] ^= script_next(s);
		put_u16be(length, (uint16_t)(get_u16be(length) ^ (script_next(s) & 3)));
	}
	s->damaged |= memcmp(salt, request_salt, s->key.salt_len) != 0 || get_u16be(length) != n;
	script_box(s, 9 + s->key.salt_len + 2u);
	memcpy(s->wire + s->wire_n, text, n);
	script_box(s, n);
	script_expect(s, text, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct script s;
	struct wire_key receiver;
	const struct users *users;
	unsigned flags;

	assert(crypto_open() == 0);
	script_start(&s, data, size);
	flags = script_next(&s);
	assert(wire_key_set(&s.key, wire_list(5 + flags % 8 % 5), secret) == 0);
	if (s.key.packet_aead != s.key.aead)
		flags &= ~(unsigned)USERS; /* only for AES */
	if (flags & ANSWER)
		flags &= ~(unsigned)USERS;
	s.key.server = flags & ANSWER;
	s.key.clock = fixed_clock;
	receiver = s.key;
	receiver.server = !s.key.server;
	users = receiver.users = flags & USERS ? her_table(s.key.key_len) : NULL;
	s.opens = &receiver;
	memcpy(s.open.salt, request_salt, s.key.salt_len);

	unsigned char *at = put_front(&s, flags, users ? users_at(users, 0) : NULL);
	(flags & ANSWER ? put_answer : put_request)(&s, flags, at);
	s.seal.begun = true;
	script_run(&s);
	user_leave(s.open.user, 0, 0);
	return 0;
}
