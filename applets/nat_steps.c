/*
 * What has to be done for the rules of nat.h to be in place, or gone, step by step: each step is
 * one run of nft, ip or iptables, never through a shell. A script that is printed has the same
 * steps. The way in is made before the rules that need it, and removed after them.
 */
#include "applets/nat.h"

#include "applets/redir.h"
#include "core/command.h"
#include "core/file.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 160, WORDS = 24, TIMES = 16, NO_PROGRAM = 127 /* the status */ };

struct run {
	FILE *script; /* to be printed; NULL: to be done */
	char *why;
	size_t n;
	bool failed; /* nothing more is done */
};

/* The rules as text, in memory. */
struct text {
	char *bytes;
	size_t length;
	FILE *file;
};

static const char *const families[] = { "-4", "-6" };
static const char *const everywhere[] = { "0.0.0.0/0", "::/0" };

bool nat_ipv6(void)
{
	return access("/proc/sys/net/ipv6", F_OK) == 0;
}

/* --- one step */

/* Run a line of ours, whose words have no blanks. Its exit status, or -1 with errno. */
static int execute(const char *line, const struct text *input, char *words, size_t n)
{
	char copy[LINE], path[PATH_MAX], *argv[WORDS + 1] = { 0 }, *rest = NULL;
	unsigned count = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &rest); word && count < WORDS;
	     word = strtok_r(NULL, " ", &rest))
		argv[count++] = word;
	if (!command_find(argv[0], path, sizeof(path))) {
		snprintf(words, n, "there is no such program here");
		return NO_PROGRAM;
	}
	words[0] = '\0';
	return command_run(path, argv, input ? input->bytes : NULL, input ? input->length : 0,
			   words, n);
}

/* It has to succeed. */
static void need(struct run *run, const char *line, const struct text *input)
{
	char words[300];
	int status;

	if (run->failed)
		return;
	if (run->script) {
		fprintf(run->script, input ? "%s <<'END'\n" : "%s\n", line);
		if (input)
			fprintf(run->script, "%sEND\n", input->bytes);
		return;
	}
	status = execute(line, input, words, sizeof(words));
	if (status == 0)
		return;
	run->failed = true;
	if (status < 0)
		snprintf(run->why, run->n, "%s: %s", line, strerror(errno));
	else if (words[0])
		snprintf(run->why, run->n, "%s: %s", line, words);
	else
		snprintf(run->why, run->n, "%s ended with status %d", line, status);
}

/* Do it until there is nothing left that it could be done to. */
static void clear(struct run *run, const char *line)
{
	char words[300];

	if (run->failed)
		return;
	if (run->script)
		fprintf(run->script, "while %s 2>/dev/null; do :; done\n", line);
	for (int i = 0; !run->script && i < TIMES; i++)
		if (execute(line, NULL, words, sizeof(words)) != 0)
			break;
}

/* Do it unless the test succeeds. */
static void unless(struct run *run, const char *test, const char *line)
{
	char words[300];

	if (run->failed)
		return;
	if (run->script)
		fprintf(run->script, "%s 2>/dev/null || %s\n", test, line);
	else if (execute(test, NULL, words, sizeof(words)) != 0)
		need(run, line, NULL);
}

static void open_text(struct run *run, struct text *text)
{
	*text = (struct text){ 0 };
	text->file = open_memstream(&text->bytes, &text->length);
	if (!text->file && !run->failed) {
		run->failed = true;
		snprintf(run->why, run->n, "no memory for the rules");
	}
}

static void need_text(struct run *run, const char *line, struct text *text)
{
	if (text->file && fclose(text->file) != 0 && !run->failed) {
		run->failed = true;
		snprintf(run->why, run->n, "no memory for the rules");
	}
	need(run, line, text);
	free(text->bytes);
}

/* --- the way into this machine for packets that are not addressed to it */

static void unroute(struct run *run, unsigned family)
{
	char line[LINE];

	snprintf(line, sizeof(line), "ip %s rule del pref %u fwmark 0x%08x table %u",
		 families[family], REDIR_TABLE, REDIR_MARK_TPROXY, REDIR_TABLE);
	clear(run, line);
	snprintf(line, sizeof(line), "ip %s route del local %s dev lo table %u", families[family],
		 everywhere[family], REDIR_TABLE);
	clear(run, line);
}

static void route(struct run *run, unsigned family)
{
	char line[LINE];

	snprintf(line, sizeof(line), "ip %s route replace local %s dev lo table %u",
		 families[family], everywhere[family], REDIR_TABLE);
	need(run, line, NULL);
	/* Some systems take the same rule twice, so take away what is there. */
	snprintf(line, sizeof(line), "ip %s rule del pref %u fwmark 0x%08x table %u",
		 families[family], REDIR_TABLE, REDIR_MARK_TPROXY, REDIR_TABLE);
	clear(run, line);
	snprintf(line, sizeof(line), "ip %s rule add pref %u fwmark 0x%08x table %u",
		 families[family], REDIR_TABLE, REDIR_MARK_TPROXY, REDIR_TABLE);
	need(run, line, NULL);
}

/* Where IPv6 is switched off there is no way in either, nor can there be one. If it is switched on
 * later, what is to come by TPROXY is dropped until the rules are applied again. */
static bool ipv6_is_off(void)
{
	char text[2] = "0";

	return file_read("/proc/sys/net/ipv6/conf/lo/disable_ipv6", text, sizeof(text)) > 0 &&
	       text[0] == '1';
}

static bool routes(const struct nat_plan *plan, unsigned family)
{
	return (plan->udp_port || plan->tproxy) &&
	       !(family == 1 && (plan->ipv4_only || ipv6_is_off()));
}

/* --- iptables */

static const char *const iptables[] = { "iptables", "ip6tables" };

/* Where there are no chains to be emptied, nothing is to be done. */
static bool skips(const struct nat_plan *plan, unsigned family)
{
	char path[PATH_MAX];

	return family == 1 && (!plan || plan->ipv4_only) &&
	       (!nat_ipv6() || !command_find(iptables[1], path, sizeof(path)));
}

static void restore(struct run *run, const struct nat_plan *plan, unsigned family)
{
	char line[LINE];
	struct text text;

	open_text(run, &text);
	if (text.file && plan)
		nat_iptables_write(text.file, plan, family == 0 ? 4 : 6);
	else if (text.file)
		nat_iptables_remove(text.file);
	snprintf(line, sizeof(line), "%s-restore -w --noflush", iptables[family]);
	need_text(run, line, &text);
}

static void hook(struct run *run, unsigned family, const struct nat_hook *at)
{
	char test[LINE], line[LINE];

	snprintf(test, sizeof(test), "%s -w -t %s -C %s -j %s", iptables[family], at->table,
		 at->chain, at->ours);
	snprintf(line, sizeof(line), "%s -w -t %s -I %s 1 -j %s", iptables[family], at->table,
		 at->chain, at->ours);
	unless(run, test, line);
}

static void unhook(struct run *run, unsigned family, const struct nat_hook *at)
{
	char line[LINE];

	snprintf(line, sizeof(line), "%s -w -t %s -D %s -j %s", iptables[family], at->table,
		 at->chain, at->ours);
	clear(run, line);
}

static void apply_iptables(struct run *run, const struct nat_plan *plan)
{
	for (unsigned family = 0; family < 2; family++) {
		if (skips(plan, family))
			continue;
		restore(run, plan, family);
		for (unsigned i = 0; nat_iptables_hook(i); i++)
			hook(run, family, nat_iptables_hook(i));
	}
}

static void remove_iptables(struct run *run)
{
	for (unsigned family = 0; family < 2; family++) {
		if (skips(NULL, family))
			continue;
		for (unsigned i = 0; nat_iptables_hook(i); i++)
			unhook(run, family, nat_iptables_hook(i));
		restore(run, NULL, family);
	}
}

/* --- nft */

static void apply_nft(struct run *run, const struct nat_plan *plan)
{
	struct text text;

	open_text(run, &text);
	if (text.file && plan)
		nat_nft_write(text.file, plan);
	else if (text.file)
		nat_nft_remove(text.file);
	need_text(run, "nft -f -", &text);
}

/* --- all of it */

static void apply(struct run *run, enum nat_tool tool, const struct nat_plan *plan)
{
	for (unsigned family = 0; family < 2; family++)
		if (routes(plan, family))
			route(run, family);
	if (tool == NAT_NFT)
		apply_nft(run, plan);
	else
		apply_iptables(run, plan);
	for (unsigned family = 0; family < 2; family++)
		if (!routes(plan, family))
			unroute(run, family);
}

static void take_away(struct run *run, enum nat_tool tool)
{
	if (tool == NAT_NFT)
		apply_nft(run, NULL);
	else
		remove_iptables(run);
	for (unsigned family = 0; family < 2; family++)
		unroute(run, family);
}

int nat_find_tool(char *why, size_t n)
{
	char path[PATH_MAX];

	if (command_find("nft", path, sizeof(path)))
		return NAT_NFT;
	if (command_find("iptables-restore", path, sizeof(path)))
		return NAT_IPTABLES;
	snprintf(why, n, "Linux's nft and iptables are both not here: install nftables");
	return -1;
}

int nat_print(FILE *to, enum nat_tool tool, const struct nat_plan *plan, char *why, size_t n)
{
	struct run run = { .script = to, .why = why, .n = n };

	fputs("#!/bin/sh\nset -e\n", to);
	if (plan)
		apply(&run, tool, plan);
	else
		take_away(&run, tool);
	return run.failed ? -1 : 0;
}

int nat_apply(enum nat_tool tool, const struct nat_plan *plan, char *why, size_t n)
{
	struct run run = { .why = why, .n = n };

	apply(&run, tool, plan);
	return run.failed ? -1 : 0;
}

int nat_remove(enum nat_tool tool, char *why, size_t n)
{
	struct run run = { .why = why, .n = n };

	take_away(&run, tool);
	return run.failed ? -1 : 0;
}

bool nat_is_lost(enum nat_tool tool, unsigned owner)
{
	char line[LINE], words[300];
	int status;

	snprintf(line, sizeof(line),
		 tool == NAT_NFT ? "nft list chain inet shadowsocks " NAT_OWNER
				 : "iptables -w -C " NAT_OWNER_RULE,
		 owner);
	status = execute(line, NULL, words, sizeof(words));
	return status > 0 && status != NO_PROGRAM;
}
