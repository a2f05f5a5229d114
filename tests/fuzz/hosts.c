/* A hosts file of any bytes: it is indexed, and looked into for what may stand in it. */
#include "net/hosts.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hosts hosts;
	struct address found[4];

	if (hosts.text == NULL && hosts_open(&hosts) < 0)
		abort();
	if (size > 65536)
		return 0;
	memcpy(hosts.text, data, size);
	hosts_index(&hosts, size);
	hosts_find(&hosts, "a", found, 4);
	hosts_find(&hosts, "localhost", found, 4);
	hosts_find(&hosts, "", found, 4);
	return 0;
}
