/* Networks: sorted, with what is around each, so that a binary search and a short walk find all
 * that hold an address. */
#include "net/acl_rules.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *one, const void *other)
{
	const struct acl_net *a = one, *b = other;
	int order = memcmp(&a->base, &b->base, sizeof(a->base));

	if (order != 0)
		return order;
	if (a->bits != b->bits)
		return a->bits < b->bits ? -1 : 1;
	if (a->list != b->list)
		return a->list < b->list ? -1 : 1;
	return a->line < b->line ? -1 : 1;
}

static bool holds(const struct acl_net *net, const struct address *address)
{
	unsigned whole = net->bits / 8, rest = net->bits % 8;

	if (net->base.family != address->family || memcmp(net->base.ip, address->ip, whole) != 0)
		return false;
	return rest == 0 || (net->base.ip[whole] ^ address->ip[whole]) >> (8 - rest) == 0;
}

static bool same(const struct acl_net *a, const struct acl_net *b)
{
	return a->bits == b->bits && a->list == b->list &&
	       memcmp(&a->base, &b->base, sizeof(a->base)) == 0;
}

void acl_nets_sort(struct acl *acl)
{
	struct acl_net *nets = acl->nets;
	uint32_t count = 0;

	if (acl->net_count > 0)
		qsort(nets, acl->net_count, sizeof(*nets), compare);
	for (uint32_t i = 0; i < acl->net_count; i++) {
		uint32_t around = count > 0 ? count - 1 : ACL_NONE;

		acl->net_lists |= (uint8_t)(1U << nets[i].list);
		if (count > 0 && same(&nets[i], &nets[count - 1]))
			continue;
		while (around != ACL_NONE && !holds(&nets[around], &nets[i].base))
			around = nets[around].around;
		nets[count] = nets[i];
		nets[count++].around = around;
	}
	acl->net_count = count;
}

void acl_nets_find(const struct acl *acl, const struct address *address, unsigned lists,
		   struct acl_hits *hits)
{
	uint32_t low = 0, high = acl->net_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (memcmp(&acl->nets[middle].base, address, sizeof(*address)) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = low > 0 ? low - 1 : ACL_NONE; i != ACL_NONE; i = acl->nets[i].around) {
		const struct acl_net *net = &acl->nets[i];

		if (lists >> net->list & 1 && hits->line[net->list] == 0 && holds(net, address))
			hits->line[net->list] = net->line;
	}
}
