/* resolv.conf, and the same bytes as a list of -d. */
#include "net/nameservers.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nameservers servers;
	char text[512];

	nameservers_resolv_conf(&servers, (const char *)data, size);
	assert(servers.count <= NAMESERVERS_MAX && servers.suffix_count <= SUFFIXES_MAX);
	for (unsigned i = 0; i < servers.suffix_count; i++)
		assert(strnlen(servers.suffixes[i], 255) < 255);
	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (nameservers_list(&servers, text) == 0)
		assert(servers.count > 0 && servers.suffix_count == 0);
	return 0;
}
