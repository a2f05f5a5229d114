/*
 * The one executable: the table of its applets, and which of them to be. The name it was started
 * by decides (ss-local, or plain local), else its first argument (ss local). What it says about
 * itself is here too; everything else lies in applets/.
 */
#include "applets/applet.h"
#include "applets/features.h"
#include "applets/install.h"
#include "applets/version.h"
#include "core/file.h"
#include "core/process.h"

#include <stdio.h>
#include <string.h>

struct applet {
	const char *name;
	int (*main)(int argc, char **argv);
	unsigned needs; /* enum feature, which this build may lack; 0: nothing */
};

static const struct applet applets[] = {
	{ "ss-local", local_main, 0 },
	{ "ss-server", server_main, 0 },
	{ "ss-tunnel", tunnel_main, FEATURE_TUNNEL },
	{ "ss-redir", redir_main, FEATURE_REDIR },
	{ "ss-manager", manager_main, FEATURE_MANAGER },
	{ "ss-key", key_main, FEATURE_KEY },
	{ "ss-nat", nat_main, FEATURE_REDIR },
	{ "ss-acl", acl_main, FEATURE_ACL },
	{ "ss-ctl", ctl_main, FEATURE_MANAGER },
	{ "ss-ping", ping_main, FEATURE_PING },
	{ "ss-check", check_main, FEATURE_CHECK },
	{ "ss-url", url_main, FEATURE_URL },
};

enum { APPLETS = sizeof(applets) / sizeof(applets[0]), PREFIX = sizeof("ss-") - 1 };

static const struct applet *find(const char *name)
{
	for (unsigned i = 0; i < APPLETS; i++)
		if (strcmp(name, applets[i].name) == 0 ||
		    strcmp(name, applets[i].name + PREFIX) == 0)
			return &applets[i];
	return NULL;
}

/* The names of those that are in this build; their number. */
static unsigned built(const char *names[APPLETS])
{
	unsigned lacking = features_lacking(), n = 0;

	for (unsigned i = 0; i < APPLETS; i++)
		if (!(applets[i].needs & lacking))
			names[n++] = applets[i].name;
	return n;
}

static void list(FILE *to)
{
	const char *names[APPLETS];
	unsigned n = built(names);

	for (unsigned i = 0; i < n; i++)
		fprintf(to, "%s\n", names[i]);
}

static int usage(FILE *to)
{
	fputs("shadowsocks " SS_VERSION "\n"
	      "usage: shadowsocks APPLET [option...]     run an applet; -h after it tells what it "
	      "takes\n"
	      "       shadowsocks --list                 the applets, one a line\n"
	      "       shadowsocks --install [-s] DIR     link their names in DIR to this file (-s: "
	      "symbolic links)\n"
	      "       shadowsocks --version              versions, and the methods built in\n"
	      "       shadowsocks --help\n"
	      "A link to this file that is named like an applet is that applet. Applets:\n",
	      to);
	list(to);
	return to == stdout ? 0 : 1;
}

static int install(int argc, char **argv)
{
	const char *names[APPLETS];
	bool symbolic = argc == 4 && strcmp(argv[2], "-s") == 0;
	unsigned n = built(names);

	if (argc != 3 && !symbolic)
		return usage(stderr);
	return install_links(argv[0], argv[argc - 1], symbolic, names, n) < 0 ? 1 : 0;
}

static int run(const struct applet *applet, int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return version_print();
	if (applet->needs & features_lacking()) {
		fprintf(stderr, "%s is not in this build, which was made without %s\n",
			applet->name, features_without());
		return 1;
	}
	return applet->main(argc, argv);
}

static bool is_option(const char *word)
{
	static const char *const options[] = { "--version", "--help", "-h", "--list" };

	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strcmp(word, options[i]) == 0)
			return true;
	return false;
}

/* What `ss` was asked for, where its first argument is no applet. */
static int command(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr);
	if (strcmp(argv[1], "--install") == 0)
		return install(argc, argv);
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return version_print();
	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return usage(stdout);
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		list(stdout);
		return 0;
	}
	if (argv[1][0] == '-' && is_option(argv[1]))
		fprintf(stderr, "%s takes no argument\n", argv[1]);
	else if (argv[1][0] == '-')
		fprintf(stderr, "there is no option %s\n", argv[1]);
	else
		fprintf(stderr, "there is no applet named \"%s\"\n", argv[1]);
	return usage(stderr);
}

static int answered(int status, const char *name)
{
	return status != 0 || file_answered(name) ? status : 1;
}

int main(int argc, char **argv)
{
	const struct applet *applet;
	const char *slash;

	if (argc < 1)
		return usage(stderr);
	slash = strrchr(argv[0], '/');
	applet = find(slash ? slash + 1 : argv[0]);
	if (applet)
		return answered(run(applet, argc, argv), applet->name);
	applet = argc > 1 ? find(argv[1]) : NULL;
	if (!applet)
		return answered(command(argc, argv), "shadowsocks");
	process_name(applet->name);
	return answered(run(applet, argc - 1, argv + 1), applet->name);
}
