/*
 * See nat_flags.h. The table of flags is here; scripts that were written for shadowsocks-libev's
 * ss-nat find its letters with the meaning they have there.
 */
#include "applets/nat_flags.h"

#include "applets/redir.h"

#include <stdlib.h>
#include <string.h>

static struct nat_plan *plan_of(struct options *o)
{
	return &((struct nat_request *)o->into)->plan;
}

static int add_words(struct options *o, enum nat_kind kind, const char *text)
{
	const char *wrong = text ? nat_list_words(&plan_of(o)->lists[kind], text) : NULL;

	if (!wrong)
		return 0;
	return options_fail(o, "has '%.*s', which is neither an address nor a network",
			    (int)strcspn(wrong, " \t\r\n,") & 63, wrong);
}

static int take_bypassed(struct options *o, const struct option_value *value)
{
	return add_words(o, NAT_BYPASSED, value->text);
}

static int take_proxied(struct options *o, const struct option_value *value)
{
	return add_words(o, NAT_PROXIED, value->text);
}

static int add_file(struct options *o, enum nat_kind kind, const char *path)
{
	o->reason->why = OPTIONS_FATAL;
	return nat_list_file(&plan_of(o)->lists[kind], path, o->reason->text,
			     sizeof(o->reason->text));
}

static int take_file(struct options *o, const struct option_value *value)
{
	return add_file(o, NAT_BYPASSED, value->text);
}

static int take_proxied_file(struct options *o, const struct option_value *value)
{
	return add_file(o, NAT_PROXIED, value->text);
}

/* "w192.168.1.2 192.168.1.3": a letter, then the list. */
static int take_sources(struct options *o, const struct option_value *value)
{
	switch (value->text[0]) {
	case 'w':
	case 'W':
		plan_of(o)->who = NAT_ONLY;
		return add_words(o, NAT_SOURCES, value->text + 1);
	case 'b':
	case 'B':
		return add_words(o, NAT_SPARED, value->text + 1);
	case 'f':
	case 'F':
		return add_words(o, NAT_WHOLE, value->text + 1);
	default:
		return options_fail(o, "must begin with w (only these are proxied), b (all but "
				       "these are), or f (these are, wherever they go)");
	}
}

static int take_server(struct options *o, const struct option_value *value)
{
	struct nat_request *request = o->into;

	if (request->server_count == NAT_NAMED)
		return options_fail(o, "cannot be given more than %d times", NAT_NAMED);
	if (endpoint_parse(&request->servers[request->server_count], value->text, 0) < 0)
		return options_fail(o, "is neither an address nor a name");
	request->server_count++;
	return 0;
}

static int take_udp_server(struct options *o, const struct option_value *value)
{
	((struct nat_request *)o->into)->udp_server = true;
	return take_server(o, value);
}

/* A name, or the beginning of names: "br-lan", "wlan+". */
static int take_interface(struct options *o, const struct option_value *value)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@-";
	struct nat_plan *plan = plan_of(o);
	size_t n = strspn(value->text, letters), all = strlen(value->text);
	bool open = all == n + 1 && strchr("+*", value->text[n]);

	if (n == 0 || all >= NAT_INTERFACE_NAME || (n != all && !open))
		return options_fail(o, "must be the name of an interface");
	if (plan->interface_count == NAT_INTERFACES)
		return options_fail(o, "cannot be given more than %d times", NAT_INTERFACES);
	snprintf(plan->interfaces[plan->interface_count++], NAT_INTERFACE_NAME, "%.*s%s", (int)n,
		 value->text, open ? "+" : "");
	return 0;
}

/* clang-format off */
#define FLAG OPTION_FLAG
#define FIELD(type_, field_) .type = OPTION_##type_, .offset = offsetof(struct nat_request, field_), \
	.programs = 1

static const struct option_row rows[] = {
	{ FLAG("-c FILE", "configuration of ss-redir: its servers, ports, mark"),
	  FIELD(STRING, config), .bits = OPTION_FILLED },
	{ FLAG("-s HOST", "server of ss-redir, which is not proxied; may be repeated"),
	  FIELD(LIST, servers), .custom = take_server },
	{ FLAG("-l PORT", "port of ss-redir"),
	  FIELD(PORT, tcp_port) },
	{ FLAG("-S HOST", "server of UDP, with -U"),
	  FIELD(LIST, udp_server), .custom = take_udp_server },
	{ FLAG("-L PORT", "port of ss-redir for UDP, with -U"),
	  FIELD(PORT, udp_port) },
	{ FLAG("-u", "TCP and UDP"),
	  FIELD(SET, udp), .value = NAT_UDP },
	{ FLAG("-U", "TCP and UDP, the latter by -S and -L"),
	  FIELD(SET, udp), .value = NAT_UDP_ELSEWHERE },
	{ FLAG("-T", "TCP by TPROXY instead of REDIRECT"),
	  FIELD(BOOL, plan.tproxy) },
	{ FLAG("-i FILE", "file of networks that are not proxied; may be repeated"),
	  FIELD(LIST, plan.lists[NAT_BYPASSED]), .custom = take_file },
	{ FLAG("-b LIST", "addresses and networks that are not proxied"),
	  FIELD(LIST, plan.lists[NAT_BYPASSED]), .custom = take_bypassed },
	{ FLAG("-w LIST", "addresses and networks that are proxied anyway"),
	  FIELD(LIST, plan.lists[NAT_PROXIED]), .custom = take_proxied },
	{ FLAG("-W FILE", "the same, in a file; may be repeated"),
	  FIELD(LIST, plan.lists[NAT_PROXIED]), .custom = take_proxied_file },
	{ FLAG("--listed-only", "of all networks only those of -w are proxied, less those of -b"),
	  FIELD(BOOL, plan.listed_only) },
	{ FLAG("-I INTERFACE", "where the traffic comes in (anywhere); may be repeated"),
	  FIELD(LIST, plan.interfaces), .custom = take_interface },
	{ FLAG("-a LIST", "w and a list: who is proxied alone; b: who is not; f: who is wholly"),
	  FIELD(LIST, plan.lists[NAT_SOURCES]), .custom = take_sources },
	{ FLAG("-e OPTIONS", "further conditions, for iptables"),
	  FIELD(STRING, plan.extra), .bits = OPTION_FILLED },
	{ FLAG("--nft-tcp RULE", "further conditions of TCP, for nft"),
	  FIELD(STRING, plan.nft_tcp), .bits = OPTION_FILLED },
	{ FLAG("--nft-udp RULE", "and of UDP"),
	  FIELD(STRING, plan.nft_udp), .bits = OPTION_FILLED },
	{ FLAG("-o", "proxy what this machine itself sends, too"),
	  FIELD(BOOL, plan.output) },
	{ FLAG("--output-tcp", "of that, TCP only"),
	  FIELD(BOOL, plan.output_tcp) },
	{ FLAG("--output-all", "of that, all but -b, whatever --listed-only says"),
	  FIELD(BOOL, plan.output_all) },
	{ FLAG("-4", "leave IPv6 alone: it is not proxied"),
	  FIELD(BOOL, plan.ipv4_only) },
	{ FLAG("--fwmark NUMBER", "mark of ss-redir's own connections (as ss-redir has it)"),
	  FIELD(NUMBER, plan.mark), .range = { 0, ~0u } },
	{ FLAG("--apply", "put the rules in place"),
	  FIELD(SET, action), .value = NAT_APPLY },
	{ FLAG("-f, --remove", "take the rules away"),
	  FIELD(SET, action), .value = NAT_REMOVE },
	{ FLAG("--print", "print a script that does it"),
	  FIELD(BOOL, print) },
	{ FLAG("--nft", "use nft"),
	  FIELD(SET, tool), .value = NAT_NFT + 1 },
	{ FLAG("--iptables", "use iptables and ip6tables, as where there is no nft"),
	  FIELD(SET, tool), .value = NAT_IPTABLES + 1 },
	{ FLAG("-h, --help", "this text"),
	  FIELD(STOP, config), .value = OPTIONS_HELP },
};
/* clang-format on */

static const char *program_name(unsigned program)
{
	(void)program;
	return "ss-nat";
}

static struct options table(struct nat_request *request, struct options_reason *reason)
{
	return (struct options){
		.rows = rows,
		.count = sizeof(rows) / sizeof(rows[0]),
		.program_name = program_name,
		.program = 1,
		.into = request,
		.reason = reason,
	};
}

int nat_flags(struct nat_request *request, int argc, char **argv, struct options_reason *reason)
{
	struct options o = table(request, reason);

	return options_flags(&o, argc, argv);
}

int nat_flags_text(struct nat_request *request, const char *text, struct options_reason *reason)
{
	enum { WORDS = 64 };
	char *copy = strdup(text), *argv[WORDS] = { copy }, *rest = NULL;
	int argc = 1, result = -1;

	if (copy)
		for (char *word = strtok_r(copy, " \t\n", &rest); word && argc < WORDS;
		     word = strtok_r(NULL, " \t\n", &rest))
			argv[argc++] = word;
	*reason = (struct options_reason){ .why = OPTIONS_FATAL };
	if (!copy || argc == WORDS)
		snprintf(reason->text, sizeof(reason->text), "there is not so much memory");
	else
		result = nat_flags(request, argc, argv, reason);
	if (result == 0 && (request->action || request->print || request->config)) {
		snprintf(reason->text, sizeof(reason->text),
			 "-c, -f, --apply, --remove and --print have no place here");
		result = -1;
	}
	free(copy);
	return result;
}

void nat_take_settings(struct nat_request *request, const struct settings *settings)
{
	const struct settings_place *place;
	struct nat_plan *plan = &request->plan;

	if (settings->mode != MODE_UDP_ONLY && !request->tcp_port)
		request->tcp_port = settings->local.port;
	if (settings->mode != MODE_TCP_ONLY && !request->udp)
		plan->udp_port = settings->local.port;
	if (!plan->mark)
		plan->mark = settings->socket.mark;
	plan->tproxy |= settings->tproxy;
	for (unsigned i = 0; (place = settings_place(settings, i)); i++)
		for (unsigned s = 0; s < place->servers && request->server_count < NAT_NAMED; s++)
			request->servers[request->server_count++] = place->server[s];
}

/* What could end a line or a rule, or be more than words to iptables-restore. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || strchr("\"'\\`$<;#", *text))
			return false;
	return true;
}

static const char *mistake(const struct nat_request *request)
{
	const struct nat_plan *plan = &request->plan;

	if (!request->server_count)
		return "the server is missing: -s HOST, or -c FILE";
	if (request->udp == NAT_UDP_ELSEWHERE && !(request->udp_server && request->udp_port))
		return "-U needs -S HOST and -L PORT";
	if (!plan->tcp_port && !plan->udp_port)
		return "the port of ss-redir is missing: -l PORT, or -c FILE";
	if (plan->mark == REDIR_MARK_REDIRECT || plan->mark == REDIR_MARK_TPROXY)
		return "this fwmark is one of those that mean: to be proxied";
	if ((plan->extra && !is_plain(plan->extra)) ||
	    (plan->nft_tcp && !is_plain(plan->nft_tcp)) ||
	    (plan->nft_udp && !is_plain(plan->nft_udp)))
		return "-e, --nft-tcp and --nft-udp take letters, digits and signs, without quotes";
	if ((plan->nft_tcp || plan->nft_udp) && (plan->extra || request->tool == NAT_IPTABLES + 1))
		return "--nft-tcp and --nft-udp speak to nft: they cannot be used with iptables";
	if (plan->extra && request->tool == NAT_NFT + 1)
		return "-e speaks to iptables: it cannot be used with --nft";
	return NULL;
}

int nat_complete(struct nat_request *request, char *why, size_t n)
{
	struct nat_plan *plan = &request->plan;
	const char *wrong;
	struct address address;

	plan->tcp_port = request->tcp_port;
	if (request->udp)
		plan->udp_port = request->udp == NAT_UDP ? request->tcp_port : request->udp_port;
	if (!plan->mark)
		plan->mark = REDIR_MARK;
	wrong = mistake(request);
	if (wrong) {
		snprintf(why, n, "%s", wrong);
		return -1;
	}
	plan->output |= plan->output_tcp || plan->output_all;
	if (plan->extra)
		request->tool = NAT_IPTABLES + 1;
	if (plan->nft_tcp || plan->nft_udp)
		request->tool = NAT_NFT + 1;
	if (!nat_ipv6())
		plan->ipv4_only = true;
	for (unsigned i = 0; i < request->server_count; i++)
		if (endpoint_address(&request->servers[i], &address))
			nat_list_address(&plan->lists[NAT_SERVERS], &address);
	nat_list_private(&plan->lists[NAT_BYPASSED]);
	if (plan->lists[NAT_WHOLE].count)
		nat_list_private(&plan->lists[NAT_PRIVATE]);
	for (unsigned i = 0; i < NAT_LISTS; i++)
		nat_list_merge(&plan->lists[i]);
	return 0;
}

void nat_usage(FILE *to)
{
	struct options o = table(NULL, NULL);

	fputs("usage: ss-nat -s HOST -l PORT [option...]     put rules for ss-redir in place\n"
	      "       ss-nat -c FILE [option...]\n"
	      "       ss-nat -f                              take them away\n"
	      "       shadowsocks nat ...                    the same, but print a script\n"
	      "                                              unless --apply or --remove is "
	      "given\n\n",
	      to);
	options_help(&o, to);
}

void nat_forget(struct nat_request *request)
{
	struct options o = table(request, NULL);

	options_free(&o);
	for (unsigned i = 0; i < NAT_LISTS; i++)
		nat_list_free(&request->plan.lists[i]);
}
