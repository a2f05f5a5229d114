/*
 * shadowsocks nat: rules of the kernel for ss-redir (nat.h), printed, applied or removed; by the
 * name ss-nat applied at once. And `ss-redir --nat`, which has them from its start to its end.
 *
 * When ss-redir is killed and cannot remove them, they stay, and nothing leaves unproxied; the next
 * start puts its own in their stead, as does each apply. It removes none that are not its own any
 * more.
 */
#include "applets/nat.h"

#include "applets/applet.h"
#include "applets/nat_flags.h"
#include "applets/running.h"
#include "core/log.h"
#include "core/process.h"
#include "core/reactor.h"
#include "net/resolve.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { WHY = OPTION_REASON_MAX };

static const char *const tools[] = { [NAT_NFT] = "nft", [NAT_IPTABLES] = "iptables" };

/* Add what a name stands for, all of it. 0, or -1 with a sentence. After resolve_open(). */
static int add_name(struct nat_list *list, const char *name, char *why, size_t n)
{
	struct lookup lookup = { 0 };
	enum resolve_status status = resolve_wait(&lookup, name);

	for (unsigned i = 0; status == RESOLVE_OK && i < lookup.answer->count; i++)
		nat_list_address(list, &lookup.answer->addresses[i]);
	resolve_release(&lookup);
	if (status == RESOLVE_OK)
		return 0;
	snprintf(why, n,
		 status == RESOLVE_NOT_FOUND ? "there is no server of the name %.255s"
					     : "no name server answers for %.255s",
		 name);
	return -1;
}

static int add_names(struct nat_request *request, char *why, size_t n)
{
	struct nat_list *servers = &request->plan.lists[NAT_SERVERS];
	int result = 0;

	for (unsigned i = 0; i < request->server_count; i++)
		if (request->servers[i].type == ENDPOINT_NAME &&
		    add_name(servers, request->servers[i].host, why, n) < 0)
			result = -1;
	nat_list_merge(servers);
	return result;
}

/* --- shadowsocks nat */

static int fail(const char *why)
{
	fprintf(stderr, "ss-nat: %s\n", why);
	return 1;
}

static bool has_names(const struct nat_request *request)
{
	for (unsigned i = 0; i < request->server_count; i++)
		if (request->servers[i].type == ENDPOINT_NAME)
			return true;
	return false;
}

static void read_config(struct nat_request *request)
{
	char name[] = "ss-redir", option[] = "-c",
	     *argv[] = { name, option, request->config, NULL };
	struct settings settings;

	settings_read(&settings, PROGRAM_REDIR, 3, argv);
	nat_take_settings(request, &settings);
	settings_free(&settings);
}

static int look_up(struct nat_request *request, char *why, size_t n)
{
	const struct resolve_options names = { 0 };
	int result;

	if (!has_names(request))
		return 0;
	if (reactor_open() < 0 || resolve_open(&names) < 0) {
		snprintf(why, n, "names cannot be looked up: %s", strerror(errno));
		return -1;
	}
	result = add_names(request, why, n);
	resolve_close();
	reactor_close();
	return result;
}

static int act(struct nat_request *request, bool print, char *why, size_t n)
{
	bool removes = request->action == NAT_REMOVE;
	int tool;

	if (!removes) {
		if (request->config)
			read_config(request);
		if (nat_complete(request, why, n) < 0 || look_up(request, why, n) < 0)
			return -1;
	}
	tool = request->tool ? request->tool - 1 : nat_find_tool(why, n);
	if (tool < 0)
		return -1;
	if (print)
		return nat_print(stdout, (enum nat_tool)tool, removes ? NULL : &request->plan, why,
				 n);
	return removes ? nat_remove((enum nat_tool)tool, why, n)
		       : nat_apply((enum nat_tool)tool, &request->plan, why, n);
}

/* Whether it was started as ss-nat, which scripts expect to act. */
static bool acts_at_once(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');

	return strncmp(slash ? slash + 1 : argv0, "ss-", 3) == 0;
}

int nat_main(int argc, char **argv)
{
	struct nat_request request = { 0 };
	struct options_reason reason;
	char why[WHY] = "";
	int status = 0;

	process_start();
	if (nat_flags(&request, argc, argv, &reason) < 0) {
		if (reason.why == OPTIONS_HELP) {
			nat_usage(stdout);
			return 0;
		}
		fail(reason.text);
		if (reason.why == OPTIONS_USAGE)
			nat_usage(stderr);
		return 1;
	}
	if (crypto_open() < 0)
		return fail("the system gives no random bytes");

	bool print = request.print || (!request.action && !acts_at_once(argv[0]));

	if (act(&request, print, why, sizeof(why)) < 0)
		status = fail(why);
	nat_forget(&request);
	return status;
}

/* --- ss-redir --nat */

static void plan_of(struct nat_request *request, const struct settings *settings)
{
	struct options_reason reason;
	char why[WHY];

	if (settings->nat_opts && nat_flags_text(request, settings->nat_opts, &reason) < 0)
		die("nat_opts: %s", reason.text);
	if (request->plan.tproxy && !settings->tproxy)
		die("nat_opts: -T has no place here: give it to %s itself, which has to listen so",
		    settings->name);
	nat_take_settings(request, settings);
	if (nat_complete(request, why, sizeof(why)) < 0)
		die("nat: %s", why);
	/* The program's own mark keeps it out of its rules, whatever its server's addresses are. */
	if (add_names(request, why, sizeof(why)) < 0)
		log_warn("nat: %s: others of this network will reach it through the proxy only",
			 why);
}

static void bound(struct applet *applet)
{
	struct nat_request request = { 0 };
	char why[WHY];
	int tool;

	if (!applet->settings.nat)
		return;
	plan_of(&request, &applet->settings);
	request.plan.owner = (unsigned)getpid();
	tool = request.tool ? request.tool - 1 : nat_find_tool(why, sizeof(why));
	if (tool < 0)
		die("nat: %s", why);
	applet->nat_tool = (uint8_t)(tool + 1);
	if (nat_apply((enum nat_tool)tool, &request.plan, why, sizeof(why)) < 0)
		die("nat: %s", why);
	nat_forget(&request);
	log_info("nat: the rules are in place (%s)", tools[tool]);
}

static void end(struct applet *applet)
{
	char why[WHY];

	if (!applet->nat_tool)
		return;

	enum nat_tool tool = (enum nat_tool)(applet->nat_tool - 1);

	if (nat_is_lost(tool, (unsigned)getpid()))
		log_warn("nat: the rules of this program are not in place any more: what is there "
			 "stays");
	else if (nat_remove(tool, why, sizeof(why)) < 0)
		log_error("nat: the rules stay, for they cannot be removed: %s", why);
	else
		log_info("nat: the rules are removed");
	applet->nat_tool = 0;
}

const struct applet_part nat_part = { .bound = bound, .end = end };
