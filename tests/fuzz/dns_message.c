/* Answers of a name server: what is kept of them is sound. */
#include "net/dns_message.h"

#include <assert.h>

static void read_as(const uint8_t *data, size_t size, enum dns_type type)
{
	struct dns_reply reply;

	dns_read_reply(&reply, data, size, type);
	assert(reply.count <= DNS_ADDRESSES && (reply.outcome == DNS_FOUND) == (reply.count > 0));
	assert(reply.ttl <= INT32_MAX);
	for (unsigned i = 0; i < reply.count; i++)
		assert(reply.addresses[i].family == 4 ||
		       (reply.addresses[i].family == 6 && type == DNS_AAAA));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_as(data, size, DNS_A);
	read_as(data, size, DNS_AAAA);
	return 0;
}
