/*
 * See dns_message.h. All addresses of the asked type in the answer section count, whatever name
 * they stand under: they lie at the end of a chain of aliases, and the server that is believed
 * about one is believed about the other. The answer holds as long as its shortest-lived record.
 */
#include "net/dns_message.h"

#include "core/bytes.h"

#include <string.h>

enum {
	HEADER = 12,
	RECORD = 10, /* type, class, time to live, length */
	LABEL_MAX = 63,
	CLASS_IN = 1,
	TYPE_CNAME = 5,
	TYPE_SOA = 6,
	FLAG_RESPONSE = 0x8000,
	FLAG_RECURSE = 0x0100,
	RCODE = 0x000f,
	RCODE_OK = 0,
	RCODE_NO_NAME = 3
};

/* What is left of a message. */
struct rest {
	const unsigned char *at;
	size_t n;
};

struct record {
	uint16_t type, class, len;
	uint32_t ttl;
	const unsigned char *data;
};

static size_t write_name(unsigned char *to, const char *name)
{
	unsigned char *at = to;

	while (*name != '\0') {
		size_t n = strcspn(name, ".");
		if (n == 0 || n > LABEL_MAX || (size_t)(at - to) + n + 2 > ENDPOINT_NAME_MAX)
			return 0;
		*at++ = (unsigned char)n;
		memcpy(at, name, n);
		at += n;
		name += n;
		if (*name == '.')
			name++;
	}
	*at++ = 0;
	return (size_t)(at - to);
}

size_t dns_write_question(unsigned char *to, uint16_t id, const char *name, enum dns_type type)
{
	memset(to, 0, HEADER);
	put_u16be(to, id);
	put_u16be(to + 2, FLAG_RECURSE);
	put_u16be(to + 4, 1); /* questions */
	size_t n = write_name(to + HEADER, name);
	if (n <= 1)
		return 0;
	put_u16be(to + HEADER + n, (uint16_t)type);
	put_u16be(to + HEADER + n + 2, CLASS_IN);
	return HEADER + n + 4;
}

static bool skip(struct rest *rest, size_t n)
{
	if (rest->n < n)
		return false;
	rest->at += n;
	rest->n -= n;
	return true;
}

/* Labels up to an empty one or a pointer; where it points to is of no interest. */
static bool skip_name(struct rest *rest)
{
	while (rest->n > 0) {
		unsigned char len = rest->at[0];
		if ((len & 0xc0) == 0xc0)
			return skip(rest, 2);
		if (len > LABEL_MAX || !skip(rest, 1U + len))
			return false;
		if (len == 0)
			return true;
	}
	return false;
}

static bool next_record(struct rest *rest, struct record *record)
{
	if (!skip_name(rest) || rest->n < RECORD)
		return false;
	record->type = get_u16be(rest->at);
	record->class = get_u16be(rest->at + 2);
	record->ttl = get_u32be(rest->at + 4);
	record->len = get_u16be(rest->at + 8);
	record->data = rest->at + RECORD;
	if (record->ttl > INT32_MAX) /* RFC 2181 8 */
		record->ttl = 0;
	return skip(rest, (size_t)RECORD + record->len);
}

static bool add_answer(struct dns_reply *reply, const struct record *record, enum dns_type type)
{
	size_t bytes = type == DNS_A ? 4 : 16;

	if (record->class != CLASS_IN || (record->type != type && record->type != TYPE_CNAME))
		return true;
	if (record->ttl < reply->ttl)
		reply->ttl = record->ttl;
	if (record->type == TYPE_CNAME)
		return true;
	if (record->len != bytes)
		return false;
	if (reply->count < DNS_ADDRESSES)
		address_set(&reply->addresses[reply->count++], type == DNS_A ? 4 : 6, record->data);
	return true;
}

static bool read_answers(struct dns_reply *reply, struct rest *rest, unsigned count,
			 enum dns_type type)
{
	struct record record;

	reply->ttl = UINT32_MAX;
	for (; count > 0; count--)
		if (!next_record(rest, &record) || !add_answer(reply, &record, type))
			return false;
	return true;
}

/* RFC 2308 5: how long "no" holds, from the zone's SOA in the authority section; 0 without. */
static uint32_t negative_ttl(struct rest *rest, unsigned count)
{
	struct record record;

	for (; count > 0 && next_record(rest, &record); count--) {
		if (record.type != TYPE_SOA || record.len < 22)
			continue;
		uint32_t minimum = get_u32be(record.data + record.len - 4);
		return minimum < record.ttl ? minimum : record.ttl;
	}
	return 0;
}

static enum dns_outcome read_message(struct dns_reply *reply, struct rest *rest, enum dns_type type)
{
	if (rest->n < HEADER)
		return DNS_FAILED;
	const unsigned char *header = rest->at;
	unsigned flags = get_u16be(header + 2), rcode = flags & RCODE;
	if (!(flags & FLAG_RESPONSE) || (rcode != RCODE_OK && rcode != RCODE_NO_NAME))
		return DNS_FAILED;

	skip(rest, HEADER);
	for (unsigned n = get_u16be(header + 4); n > 0; n--)
		if (!skip_name(rest) || !skip(rest, 4))
			return DNS_FAILED;
	if (!read_answers(reply, rest, get_u16be(header + 6), type))
		return DNS_FAILED;
	if (reply->count > 0)
		return DNS_FOUND;
	reply->ttl = negative_ttl(rest, get_u16be(header + 8));
	return rcode == RCODE_NO_NAME ? DNS_NO_NAME : DNS_NO_DATA;
}

void dns_read_reply(struct dns_reply *reply, const unsigned char *bytes, size_t n,
		    enum dns_type type)
{
	struct rest rest = { .at = bytes, .n = n };

	*reply = (struct dns_reply){ 0 };
	enum dns_outcome outcome = read_message(reply, &rest, type);
	if (outcome == DNS_FAILED) /* nothing of what was read before it went wrong */
		*reply = (struct dns_reply){ 0 };
	reply->outcome = (uint8_t)outcome;
}
