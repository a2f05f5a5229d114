/*
 * The rules of nat.h as a table of nftables. The table is removed and made anew in one transaction,
 * so there is no moment without rules. No I/O.
 */
#include "applets/nat.h"

#include "applets/redir.h"

#include <string.h>

static const char *const set_names[NAT_LISTS] = {
	[NAT_SERVERS] = "servers", [NAT_PROXIED] = "proxied", [NAT_BYPASSED] = "bypassed",
	[NAT_PRIVATE] = "private", [NAT_SPARED] = "spared",   [NAT_SOURCES] = "sources",
	[NAT_WHOLE] = "whole",
};

static void write_set(FILE *to, const char *name, int family, const struct nat_list *list)
{
	char text[NAT_CIDR_TEXT];
	bool any = false;

	fprintf(to, "\tset %s%d {\n\t\ttype ipv%d_addr\n\t\tflags interval\n", name, family,
		family);
	for (unsigned i = 0; i < list->count; i++) {
		if (list->all[i].address.family != family)
			continue;
		fprintf(to, "%s\n\t\t\t%s", any ? "," : "\t\telements = {",
			nat_cidr_print(&list->all[i], text));
		any = true;
	}
	fputs(any ? "\n\t\t}\n\t}\n\n" : "\t}\n\n", to);
}

/* The transport protocols that are proxied. */
static const char *protocols(const struct nat_plan *plan)
{
	return !plan->udp_port ? "tcp" : plan->tcp_port ? "{ tcp, udp }" : "udp";
}

/* Of what this machine sends. */
static const char *own_protocols(const struct nat_plan *plan)
{
	return plan->output_tcp && plan->tcp_port ? "tcp" : protocols(plan);
}

/* It sends to more targets than others may. */
static bool has_own_targets(const struct nat_plan *plan)
{
	return plan->output_all && plan->listed_only;
}

static bool redirects(const struct nat_plan *plan)
{
	return plan->tcp_port && !plan->tproxy;
}

/* A rule for each family's set. */
static void for_both(FILE *to, const char *side, const char *set, const char *verdict)
{
	fprintf(to, "\t\tip %s @%s4 %s\n\t\tip6 %s @%s6 %s\n", side, set, verdict, side, set,
		verdict);
}

static void write_who(FILE *to, const struct nat_plan *plan)
{
	fputs("\tchain who {\n", to);
	if (plan->ipv4_only)
		fputs("\t\tmeta nfproto ipv6 return\n", to);
	if (plan->lists[NAT_SPARED].count)
		for_both(to, "saddr", set_names[NAT_SPARED], "return");
	if (plan->who == NAT_ONLY)
		for_both(to, "saddr", set_names[NAT_SOURCES], "goto whereto");
	if (plan->lists[NAT_WHOLE].count)
		for_both(to, "saddr", set_names[NAT_WHOLE], "goto whole");
	if (plan->who != NAT_ONLY)
		fputs("\t\tgoto whereto\n", to);
	fputs("\t}\n\n", to);
}

/* What is never proxied, whoever sends it. */
static void begin_targets(FILE *to, const struct nat_plan *plan, const char *chain)
{
	fprintf(to, "\tchain %s {\n", chain);
	if (plan->ipv4_only)
		fputs("\t\tmeta nfproto ipv6 return\n", to);
	fprintf(to, "\t\tmeta mark 0x%08x return\n", REDIR_MARK);
	if (plan->mark != REDIR_MARK)
		fprintf(to, "\t\tmeta mark 0x%08x return\n", plan->mark);
	fputs("\t\tct direction reply return\n", to);
	if (redirects(plan))
		fputs("\t\tmeta l4proto tcp ct status dnat return\n", to);
	fputs("\t\tfib daddr type { local, broadcast, multicast, anycast } return\n", to);
	for_both(to, "daddr", set_names[NAT_SERVERS], "return");
}

static void write_whereto(FILE *to, const struct nat_plan *plan)
{
	begin_targets(to, plan, "whereto");
	if (plan->listed_only)
		for_both(to, "daddr", set_names[NAT_BYPASSED], "return");
	for_both(to, "daddr", set_names[NAT_PROXIED], "goto take");
	if (!plan->listed_only) {
		for_both(to, "daddr", set_names[NAT_BYPASSED], "return");
		fputs("\t\tgoto take\n", to);
	}
	fputs("\t}\n\n", to);
}

/* For those to whom only one list applies. */
static void write_targets_but(FILE *to, const struct nat_plan *plan, const char *chain,
			      enum nat_kind kind)
{
	begin_targets(to, plan, chain);
	for_both(to, "daddr", set_names[kind], "return");
	fputs("\t\tgoto take\n\t}\n\n", to);
}

static void write_take(FILE *to, const struct nat_plan *plan)
{
	const char *tcp = plan->nft_tcp ? plan->nft_tcp : "";
	const char *udp = plan->nft_udp ? plan->nft_udp : "";

	fputs("\tchain take {\n", to);
	if (plan->tcp_port)
		fprintf(to, "\t\tmeta l4proto tcp %s%smeta mark set 0x%08x\n", tcp, *tcp ? " " : "",
			plan->tproxy ? REDIR_MARK_TPROXY : REDIR_MARK_REDIRECT);
	if (plan->udp_port)
		fprintf(to, "\t\tmeta l4proto udp %s%smeta mark set 0x%08x\n", udp, *udp ? " " : "",
			REDIR_MARK_TPROXY);
	fputs("\t}\n\n", to);
}

/* Where no socket is, `tproxy` lets the packet pass to the next rule. */
static void write_prerouting(FILE *to, const struct nat_plan *plan)
{
	fputs("\tchain prerouting {\n\t\ttype filter hook prerouting priority -150; policy "
	      "accept;\n",
	      to);
	for (unsigned i = 0; i < plan->interface_count; i++) {
		const char *name = plan->interfaces[i];
		size_t n = strcspn(name, "+");

		fprintf(to, "\t\tiifname \"%.*s%s\" meta l4proto %s jump who\n", (int)n, name,
			name[n] ? "*" : "", protocols(plan));
	}
	if (plan->interface_count == 0)
		fprintf(to, "\t\tiifname != \"lo\" meta l4proto %s jump who\n", protocols(plan));
	if (plan->tcp_port && plan->tproxy)
		fprintf(to, "\t\tmeta mark 0x%08x meta l4proto tcp tproxy to :%u accept\n",
			REDIR_MARK_TPROXY, plan->tcp_port);
	if (plan->udp_port)
		fprintf(to, "\t\tmeta mark 0x%08x meta l4proto udp tproxy to :%u accept\n",
			REDIR_MARK_TPROXY, plan->udp_port);
	fprintf(to, "\t\tmeta mark 0x%08x drop\n\t}\n\n", REDIR_MARK_TPROXY);
}

static void write_redirect(FILE *to, const struct nat_plan *plan, const char *hook)
{
	fprintf(to,
		"\tchain redirect_%s {\n"
		"\t\ttype nat hook %s priority -101; policy accept;\n"
		"\t\tmeta mark 0x%08x meta l4proto tcp redirect to :%u\n\t}\n\n",
		hook, hook, REDIR_MARK_REDIRECT, plan->tcp_port);
}

static void write_output(FILE *to, const struct nat_plan *plan)
{
	fprintf(to,
		"\tchain output {\n"
		"\t\ttype route hook output priority -150; policy accept;\n"
		"\t\tmeta l4proto %s jump %s\n\t}\n\n",
		own_protocols(plan), has_own_targets(plan) ? "own" : "whereto");
}

static void write_guards(FILE *to)
{
	fprintf(to,
		"\tchain forward {\n"
		"\t\ttype filter hook forward priority -150; policy accept;\n"
		"\t\tmeta mark { 0x%08x, 0x%08x } meta l4proto tcp reject with tcp reset\n\t}\n\n",
		REDIR_MARK_REDIRECT, REDIR_MARK_TPROXY);
	fprintf(to,
		"\tchain postrouting {\n"
		"\t\ttype filter hook postrouting priority -150; policy accept;\n"
		"\t\tmeta mark { 0x%08x, 0x%08x } oifname != \"lo\" drop\n\t}\n",
		REDIR_MARK_REDIRECT, REDIR_MARK_TPROXY);
}

void nat_nft_remove(FILE *to)
{
	fputs("table inet shadowsocks\ndelete table inet shadowsocks\n", to);
}

void nat_nft_write(FILE *to, const struct nat_plan *plan)
{
	nat_nft_remove(to);
	fputs("table inet shadowsocks {\n", to);
	for (unsigned i = 0; i < NAT_LISTS; i++) {
		write_set(to, set_names[i], 4, &plan->lists[i]);
		write_set(to, set_names[i], 6, &plan->lists[i]);
	}
	if (plan->owner)
		fprintf(to, "\tchain " NAT_OWNER " {\n\t}\n\n", plan->owner);
	write_take(to, plan);
	write_whereto(to, plan);
	if (plan->lists[NAT_WHOLE].count)
		write_targets_but(to, plan, "whole", NAT_PRIVATE);
	if (plan->output && has_own_targets(plan))
		write_targets_but(to, plan, "own", NAT_BYPASSED);
	write_who(to, plan);
	write_prerouting(to, plan);
	if (redirects(plan))
		write_redirect(to, plan, "prerouting");
	if (plan->output)
		write_output(to, plan);
	if (plan->output && redirects(plan))
		write_redirect(to, plan, "output");
	write_guards(to);
	fputs("}\n", to);
}
