/* The text for iptables-restore: it is read here as the kernel would, chain by chain, and gives the same answer for
 * every address as the lists do, also when they are spread over chains. That iptables takes it, and that packets go
 * where they should, is tested in network namespaces (tests/netns). */
#include "applets/nat.h"
#include "applets/redir.h"
#include "tests/unit.h"

#include <stdbool.h>

static char *text;
static size_t length;

static FILE *open_text(void)
{
	FILE *to;

	free(text);
	text = NULL;
	to = open_memstream(&text, &length);
	assert_non_null(to);
	return to;
}

static void write_plan(const struct nat_plan *plan, int family)
{
	FILE *to = open_text();

	nat_iptables_write(to, plan, family);
	assert_int_equal(fclose(to), 0);
}

static int teardown(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

static bool inside(const struct nat_cidr *network, const struct address *address)
{
	struct nat_list one = { 0 };
	bool result;

	one.all = calloc(2, sizeof(*one.all));
	assert_non_null(one.all);
	one.room = one.count = 2;
	one.all[0] = *network;
	one.all[1] = (struct nat_cidr){ *address, address->family == 4 ? 32 : 128 };
	nat_list_merge(&one);
	result = one.count == 1;
	nat_list_free(&one);
	return result;
}

/* Whether a packet to this address comes to SS_NAT_TAKE from this chain of the mangle table, by the rules that name
 * a destination, or nothing. */
static bool taken(const char *chain, const struct address *to)
{
	char prefix[64], line[200];

	snprintf(prefix, sizeof(prefix), "-A %s ", chain);
	for (const char *at = strstr(text, "*mangle\n"); at && *at; at = strchr(at, '\n') + 1) {
		char network[NAT_CIDR_TEXT], verdict[8], where[40] = "";
		struct nat_list one = { 0 };

		if (strncmp(at, prefix, strlen(prefix)) != 0)
			continue;
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
		if (sscanf(line + strlen(prefix), "-d %63s %7s %39s", network, verdict, where) ==
		    3) {
			assert_int_equal(nat_list_add(&one, network), 0);
			bool matches = inside(&one.all[0], to);
			nat_list_free(&one);
			if (!matches)
				continue;
		} else if (sscanf(line + strlen(prefix), "%7s %39s", verdict, where) != 2 ||
			   strcmp(verdict, "-g") != 0) {
			continue; /* a condition of another kind, which does not hold here */
		}
		if (strcmp(where, "SS_NAT_TAKE") == 0)
			return true;
		return strcmp(where, "RETURN") == 0 ? false : taken(where, to);
	}
	return false;
}

static bool listed(const struct nat_list *list, const struct address *address)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->all[i].address.family == address->family &&
		    inside(&list->all[i], address))
			return true;
	return false;
}

static uint32_t seed = 1;

static unsigned next(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static struct address any_address(int family)
{
	struct address address = { .family = (uint8_t)family };

	for (unsigned i = 0; i < (family == 4 ? 4u : 16u); i++)
		address.ip[i] = (uint8_t)(i < 2 ? next() % 24 : next());
	return address;
}

static void fill(struct nat_list *list, int family, unsigned n, unsigned least, unsigned most)
{
	char network[NAT_CIDR_TEXT];

	for (unsigned i = 0; i < n; i++) {
		struct nat_cidr cidr = { any_address(family),
					 (uint8_t)(least + next() % (most - least + 1)) };

		assert_int_equal(nat_list_add(list, nat_cidr_print(&cidr, network)), 0);
	}
	nat_list_merge(list);
}

static void check(const struct nat_plan *plan, int family)
{
	unsigned both[2] = { 0 };

	for (unsigned i = 0; i < 400; i++) {
		struct address to = any_address(family);
		bool proxied = listed(&plan->lists[NAT_PROXIED], &to),
		     bypassed = listed(&plan->lists[NAT_BYPASSED], &to);
		bool expected = !listed(&plan->lists[NAT_SERVERS], &to) &&
				(plan->listed_only ? proxied && !bypassed : proxied || !bypassed);

		assert_int_equal(taken("SS_NAT_WHERETO", &to), expected);
		both[expected]++;
	}
	assert_true(both[0] > 20 && both[1] > 20);
}

static void the_lists_decide(void **state)
{
	static const unsigned sizes[] = { 20, 63, 64, 300 };

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int family = 4; family <= 6; family += 2) {
			struct nat_plan plan = { .tcp_port = 1,
						 .mark = REDIR_MARK,
						 .listed_only = i & 1 };

			fill(&plan.lists[NAT_SERVERS], family, 10, 12, 14);
			fill(&plan.lists[NAT_PROXIED], family, plan.listed_only ? 300 : 10,
			     plan.listed_only ? 7 : 12, 14);
			fill(&plan.lists[NAT_BYPASSED], family, sizes[i / 2],
			     plan.listed_only ? 15 : 7, 20);
			write_plan(&plan, family);
			check(&plan, family);
			for (unsigned l = 0; l < NAT_LISTS; l++)
				nat_list_free(&plan.lists[l]);
		}
}

static void expect(const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is missing in\n%s", part, text);
}

static void expect_not(const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in\n%s", part, text);
}

static void rules(void **state)
{
	struct nat_plan plan = {
		.tcp_port = 1080,
		.udp_port = 1081,
		.output = true,
		.mark = 0x1234,
		.interfaces = { "br+" },
		.interface_count = 1,
	};
	char extra[] = "-m owner --uid-owner 7";

	(void)state;
	plan.extra = extra;
	write_plan(&plan, 4);
	expect("-A SS_NAT_PRE -i br+ -p tcp -m owner --uid-owner 7 -j SS_NAT_WHO\n");
	expect("-A SS_NAT_PRE -i br+ -p udp -m owner --uid-owner 7 -j SS_NAT_WHO\n");
	expect("-A SS_NAT_OUT -p udp -m owner --uid-owner 7 -j SS_NAT_WHERETO\n");
	expect("-A SS_NAT_WHERETO -m mark --mark 0x00001234 -j RETURN\n");
	expect("-A SS_NAT_WHERETO -m addrtype --dst-type BROADCAST -j RETURN\n");
	expect("-A SS_NAT_PRE -p udp -m mark --mark 0x53530002 -j TPROXY --on-port 1081 ");
	expect("-A SS_NAT_PRE -p tcp -m mark --mark 0x53530001 -j REDIRECT --to-ports 1080\n");
	expect("-A SS_NAT_OUT -p tcp -m mark --mark 0x53530001 -j REDIRECT --to-ports 1080\n");
	expect("-A SS_NAT_POST -m mark --mark 0x53530001 ! -o lo -j DROP\n");
	expect("-A SS_NAT_POST -m mark --mark 0x53530002 ! -o lo -j DROP\n");
	write_plan(&plan, 6);
	expect_not("BROADCAST");

	plan.tproxy = true;
	write_plan(&plan, 6);
	expect("-A SS_NAT_TAKE -p tcp -j MARK --set-mark 0x53530002\n");
	expect("-A SS_NAT_PRE -p tcp -m mark --mark 0x53530002 -j TPROXY --on-port 1080 ");
	expect_not("REDIRECT --to-ports");

	plan.ipv4_only = true;
	write_plan(&plan, 6);
	expect(":SS_NAT_PRE - [0:0]\n");
	expect_not("-A ");
}

/* Each chain that one text makes is removed by the other, or a removal would leave or miss some. */
static void removal(void **state)
{
	struct nat_plan plan = { .tcp_port = 1, .mark = REDIR_MARK };
	unsigned made = 0, removed = 0;
	char *all;

	(void)state;
	write_plan(&plan, 4);
	all = text;
	text = NULL;
	FILE *to = open_text();
	nat_iptables_remove(to);
	assert_int_equal(fclose(to), 0);
	for (const char *at = all; *at; at = strchr(at, '\n') + 1) {
		char line[80];

		if (*at != ':')
			continue;
		made++;
		snprintf(line, sizeof(line), "-X %.*s\n", (int)strcspn(at + 1, " "), at + 1);
		expect(line);
	}
	for (const char *at = text; *at; at = strchr(at, '\n') + 1)
		removed += strncmp(at, "-X", 2) == 0;
	assert_int_equal(made, removed);
	for (unsigned i = 0; nat_iptables_hook(i); i++) {
		char line[80];

		snprintf(line, sizeof(line), "*%s\n", nat_iptables_hook(i)->table);
		expect(line);
		snprintf(line, sizeof(line), ":%s - [0:0]\n", nat_iptables_hook(i)->ours);
		expect(line);
	}
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_lists_decide, teardown),
		cmocka_unit_test_teardown(rules, teardown),
		cmocka_unit_test_teardown(removal, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
