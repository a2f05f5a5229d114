/* A list of networks, then the rules for it: whatever is in the list, nothing else comes into the rules. */
#include "applets/nat.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nat_plan plan = { .tcp_port = 1, .udp_port = 2, .mark = 3, .who = NAT_ONLY };
	char *text = strndup((const char *)data, size), *rules = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&rules, &n);

	assert(text && to);
	for (unsigned i = 0; i < NAT_LISTS; i++) {
		nat_list_words(&plan.lists[i], text);
		nat_list_merge(&plan.lists[i]);
	}
	nat_nft_write(to, &plan);
	nat_iptables_write(to, &plan, 4);
	nat_iptables_write(to, &plan, 6);
	fclose(to);
	assert(strspn(rules, " \t\n\"*!:;@{},./=<>_-abcdefghijklmnopqrstuvwxyz"
			     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789[]") == n);
	for (unsigned i = 0; i < NAT_LISTS; i++)
		nat_list_free(&plan.lists[i]);
	free(rules);
	free(text);
	return 0;
}
