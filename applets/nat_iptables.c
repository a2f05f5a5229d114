/*
 * The rules of nat.h for iptables-restore --noflush, one family at a time: chains of our own, which
 * it empties and fills again at once, table by table; nat_steps.c leads iptables' chains to them.
 * Large lists are spread over chains by the first bits of the address, so that a packet meets few
 * of their entries. No I/O.
 */
#include "applets/nat.h"

#include "applets/redir.h"

#include <stdlib.h>

enum {
	GROUPS = 64,	  /* SS_NAT_B0 ... */
	GROUPED_FROM = 64 /* entries of a list */
};

static const struct nat_hook hooks[] = {
	{ "mangle", "POSTROUTING", "SS_NAT_POST" }, { "filter", "FORWARD", "SS_NAT_FWD" },
	{ "nat", "PREROUTING", "SS_NAT_PRE" },	    { "nat", "OUTPUT", "SS_NAT_OUT" },
	{ "mangle", "PREROUTING", "SS_NAT_PRE" },   { "mangle", "OUTPUT", "SS_NAT_OUT" },
};

const struct nat_hook *nat_iptables_hook(unsigned i)
{
	return i < sizeof(hooks) / sizeof(hooks[0]) ? &hooks[i] : NULL;
}

/* All chains of a table, whether this plan uses them or not: what an earlier one left is
 * emptied. */
static void begin_mangle(FILE *to)
{
	fputs("*mangle\n:SS_NAT_PRE - [0:0]\n:SS_NAT_OUT - [0:0]\n:SS_NAT_POST - [0:0]\n"
	      ":SS_NAT_WHO - [0:0]\n:SS_NAT_WHERETO - [0:0]\n:SS_NAT_TAKE - [0:0]\n"
	      ":SS_NAT_LISTED - [0:0]\n:SS_NAT_WHOLE - [0:0]\n:SS_NAT_OWN - [0:0]\n",
	      to);
	for (unsigned i = 0; i < GROUPS; i++)
		fprintf(to, ":SS_NAT_B%u - [0:0]\n", i);
}

static void begin_nat(FILE *to)
{
	fputs("*nat\n:SS_NAT_PRE - [0:0]\n:SS_NAT_OUT - [0:0]\n", to);
}

static void begin_filter(FILE *to)
{
	fputs("*filter\n:SS_NAT_FWD - [0:0]\n", to);
}

static bool redirects(const struct nat_plan *plan)
{
	return plan->tcp_port && !plan->tproxy;
}

/* A rule for each protocol that is proxied: chain and conditions, then the user's own. */
static void write_protocols(FILE *to, const struct nat_plan *plan, const char *from,
			    const char *chain, bool tcp_alone)
{
	const char *extra = plan->extra ? plan->extra : "";

	if (plan->tcp_port)
		fprintf(to, "-A %s -p tcp %s -j %s\n", from, extra, chain);
	if (plan->udp_port && !(tcp_alone && plan->tcp_port))
		fprintf(to, "-A %s -p udp %s -j %s\n", from, extra, chain);
}

static void write_list(FILE *to, const char *chain, const char *side, const struct nat_list *list,
		       int family, const char *then)
{
	char text[NAT_CIDR_TEXT];

	for (unsigned i = 0; i < list->count; i++)
		if (list->all[i].address.family == family)
			fprintf(to, "-A %s %s %s %s\n", chain, side,
				nat_cidr_print(&list->all[i], text), then);
}

/* --- large lists */

static unsigned group_bits(int family)
{
	return family == 4 ? 8 : 16;
}

static unsigned first_bits(const struct nat_cidr *cidr)
{
	unsigned first = cidr->address.ip[0];

	return cidr->address.family == 4 ? first : first << 8 | cidr->address.ip[1];
}

/* An entry of the list in its group's chain; before the first of these bits, the way there. */
static void write_grouped(FILE *to, const struct nat_cidr *cidr, unsigned *last)
{
	struct nat_cidr group = { { .family = cidr->address.family }, 0 };
	unsigned bits = first_bits(cidr);
	char text[NAT_CIDR_TEXT];

	if (cidr->bits < group_bits(cidr->address.family)) {
		fprintf(to, "-A SS_NAT_WHERETO -d %s -j RETURN\n", nat_cidr_print(cidr, text));
		return;
	}
	if (bits != *last) {
		group.bits = (uint8_t)group_bits(group.address.family);
		group.address.ip[0] = cidr->address.ip[0];
		group.address.ip[1] = group.bits > 8 ? cidr->address.ip[1] : 0;
		fprintf(to, "-A SS_NAT_WHERETO -d %s -g SS_NAT_B%u\n", nat_cidr_print(&group, text),
			bits % GROUPS);
		*last = bits;
	}
	fprintf(to, "-A SS_NAT_B%u -d %s -j RETURN\n", bits % GROUPS, nat_cidr_print(cidr, text));
}

static void write_bypassed(FILE *to, const struct nat_list *list, int family, const char *rest)
{
	unsigned last = ~0u;

	if (list->count < GROUPED_FROM) {
		write_list(to, "SS_NAT_WHERETO", "-d", list, family, "-j RETURN");
		return;
	}
	for (unsigned i = 0; i < list->count; i++)
		if (list->all[i].address.family == family)
			write_grouped(to, &list->all[i], &last);
	for (unsigned i = 0; i < GROUPS; i++)
		fprintf(to, "-A SS_NAT_B%u -g %s\n", i, rest);
}

/* --- who and whereto */

static void write_who(FILE *to, const struct nat_plan *plan, int family)
{
	const struct nat_list *lists = plan->lists;

	write_list(to, "SS_NAT_WHO", "-s", &lists[NAT_SPARED], family, "-j RETURN");
	if (plan->who == NAT_ONLY)
		write_list(to, "SS_NAT_WHO", "-s", &lists[NAT_SOURCES], family,
			   "-g SS_NAT_WHERETO");
	write_list(to, "SS_NAT_WHO", "-s", &lists[NAT_WHOLE], family, "-g SS_NAT_WHOLE");
	if (plan->who != NAT_ONLY)
		fputs("-A SS_NAT_WHO -g SS_NAT_WHERETO\n", to);
}

/* What is never proxied, whoever sends it. */
static void begin_targets(FILE *to, const struct nat_plan *plan, int family, const char *chain)
{
	static const char *const ours[] = { "LOCAL", "MULTICAST", "ANYCAST", "BROADCAST" };

	fprintf(to, "-A %s -m mark --mark 0x%08x -j RETURN\n", chain, REDIR_MARK);
	if (plan->mark != REDIR_MARK)
		fprintf(to, "-A %s -m mark --mark 0x%08x -j RETURN\n", chain, plan->mark);
	fprintf(to, "-A %s -m conntrack --ctdir REPLY -j RETURN\n", chain);
	if (redirects(plan))
		fprintf(to, "-A %s -p tcp -m conntrack --ctstate DNAT -j RETURN\n", chain);
	for (unsigned i = 0; i < (family == 4 ? 4 : 3); i++)
		fprintf(to, "-A %s -m addrtype --dst-type %s -j RETURN\n", chain, ours[i]);
	write_list(to, chain, "-d", &plan->lists[NAT_SERVERS], family, "-j RETURN");
}

static void write_whereto(FILE *to, const struct nat_plan *plan, int family)
{
	const char *rest = plan->listed_only ? "SS_NAT_LISTED" : "SS_NAT_TAKE";
	const char *proxied = plan->listed_only ? "SS_NAT_LISTED" : "SS_NAT_WHERETO";

	begin_targets(to, plan, family, "SS_NAT_WHERETO");
	write_list(to, proxied, "-d", &plan->lists[NAT_PROXIED], family, "-g SS_NAT_TAKE");
	write_bypassed(to, &plan->lists[NAT_BYPASSED], family, rest);
	fprintf(to, "-A SS_NAT_WHERETO -g %s\n", rest);
}

/* For those to whom only one list applies. */
static void write_targets_but(FILE *to, const struct nat_plan *plan, int family, const char *chain,
			      enum nat_kind kind)
{
	begin_targets(to, plan, family, chain);
	write_list(to, chain, "-d", &plan->lists[kind], family, "-j RETURN");
	fprintf(to, "-A %s -g SS_NAT_TAKE\n", chain);
}

static void write_take(FILE *to, const struct nat_plan *plan)
{
	if (plan->tcp_port)
		fprintf(to, "-A SS_NAT_TAKE -p tcp -j MARK --set-mark 0x%08x\n",
			plan->tproxy ? REDIR_MARK_TPROXY : REDIR_MARK_REDIRECT);
	if (plan->udp_port)
		fprintf(to, "-A SS_NAT_TAKE -p udp -j MARK --set-mark 0x%08x\n", REDIR_MARK_TPROXY);
}

/* --- where packets pass by */

static void write_tproxy(FILE *to, const char *protocol, unsigned port)
{
	fprintf(to,
		"-A SS_NAT_PRE -p %s -m mark --mark 0x%08x -j TPROXY --on-port %u "
		"--tproxy-mark 0x%08x\n",
		protocol, REDIR_MARK_TPROXY, port, REDIR_MARK_TPROXY);
}

/* Where no socket is, TPROXY drops the packet. */
static void write_prerouting(FILE *to, const struct nat_plan *plan)
{
	char from[64];

	for (unsigned i = 0; i < plan->interface_count; i++) {
		snprintf(from, sizeof(from), "SS_NAT_PRE -i %s", plan->interfaces[i]);
		write_protocols(to, plan, from, "SS_NAT_WHO", false);
	}
	if (plan->interface_count == 0)
		write_protocols(to, plan, "SS_NAT_PRE ! -i lo", "SS_NAT_WHO", false);
	if (plan->tcp_port && plan->tproxy)
		write_tproxy(to, "tcp", plan->tcp_port);
	if (plan->udp_port)
		write_tproxy(to, "udp", plan->udp_port);
}

static void write_mangle(FILE *to, const struct nat_plan *plan, int family)
{
	static const unsigned marks[] = { REDIR_MARK_REDIRECT, REDIR_MARK_TPROXY };
	bool own = plan->output && plan->output_all && plan->listed_only;

	write_prerouting(to, plan);
	write_who(to, plan, family);
	write_whereto(to, plan, family);
	write_take(to, plan);
	if (plan->lists[NAT_WHOLE].count)
		write_targets_but(to, plan, family, "SS_NAT_WHOLE", NAT_PRIVATE);
	if (own)
		write_targets_but(to, plan, family, "SS_NAT_OWN", NAT_BYPASSED);
	if (plan->output)
		write_protocols(to, plan, "SS_NAT_OUT", own ? "SS_NAT_OWN" : "SS_NAT_WHERETO",
				plan->output_tcp);
	for (unsigned i = 0; i < 2; i++)
		fprintf(to, "-A SS_NAT_POST -m mark --mark 0x%08x ! -o lo -j DROP\n", marks[i]);
}

static void write_nat(FILE *to, const struct nat_plan *plan)
{
	static const char *const chains[] = { "SS_NAT_PRE", "SS_NAT_OUT" };

	for (unsigned i = 0; redirects(plan) && i < (plan->output ? 2 : 1); i++)
		fprintf(to, "-A %s -p tcp -m mark --mark 0x%08x -j REDIRECT --to-ports %u\n",
			chains[i], REDIR_MARK_REDIRECT, plan->tcp_port);
}

/* Who waits for an answer is told; the rest is dropped after routing. */
static void write_filter(FILE *to, const struct nat_plan *plan)
{
	static const unsigned marks[] = { REDIR_MARK_REDIRECT, REDIR_MARK_TPROXY };

	for (unsigned i = 0; i < 2; i++)
		fprintf(to,
			"-A SS_NAT_FWD -p tcp -m mark --mark 0x%08x -j REJECT --reject-with "
			"tcp-reset\n",
			marks[i]);
	if (plan->owner)
		fprintf(to, "-A " NAT_OWNER_RULE "\n", plan->owner);
}

void nat_iptables_write(FILE *to, const struct nat_plan *plan, int family)
{
	bool empty = family == 6 && plan->ipv4_only;

	begin_filter(to);
	if (!empty)
		write_filter(to, plan);
	fputs("COMMIT\n", to);
	begin_nat(to);
	if (!empty)
		write_nat(to, plan);
	fputs("COMMIT\n", to);
	begin_mangle(to);
	if (!empty)
		write_mangle(to, plan, family);
	fputs("COMMIT\n", to);
}

void nat_iptables_remove(FILE *to)
{
	begin_mangle(to);
	fputs("-X SS_NAT_PRE\n-X SS_NAT_OUT\n-X SS_NAT_POST\n-X SS_NAT_WHO\n-X SS_NAT_WHERETO\n"
	      "-X SS_NAT_TAKE\n-X SS_NAT_LISTED\n-X SS_NAT_WHOLE\n-X SS_NAT_OWN\n",
	      to);
	for (unsigned i = 0; i < GROUPS; i++)
		fprintf(to, "-X SS_NAT_B%u\n", i);
	fputs("COMMIT\n", to);
	begin_nat(to);
	fputs("-X SS_NAT_PRE\n-X SS_NAT_OUT\nCOMMIT\n", to);
	begin_filter(to);
	fputs("-X SS_NAT_FWD\nCOMMIT\n", to);
}
