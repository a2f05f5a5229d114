/*
 * What stands in for applets and settings that a build was made without (dist/without.mk). Weak:
 * where the part is there, its own functions win. ss.c says that an applet is not there, and the
 * tables of options refuse what would need these: nobody calls the first ones.
 */
#include "applets/applet.h"
#include "applets/running.h"
#include "applets/settings_table.h"
#include "applets/settings_value.h"

#include <stdlib.h>

#define WEAK __attribute__((weak))

#define ABSENT_MAIN(applet)                                                     \
	WEAK __attribute__((noreturn)) int applet##_main(int argc, char **argv) \
	{                                                                       \
		(void)argc, (void)argv;                                         \
		abort();                                                        \
	}

ABSENT_MAIN(tunnel)
ABSENT_MAIN(redir)
ABSENT_MAIN(nat)
ABSENT_MAIN(manager)
ABSENT_MAIN(ctl)
ABSENT_MAIN(acl)
ABSENT_MAIN(url)
ABSENT_MAIN(check)
ABSENT_MAIN(ping)
ABSENT_MAIN(key)

#define ABSENT_VALUE(value)                                                                        \
	WEAK __attribute__((noreturn)) int value(struct options *o, const struct option_value *of) \
	{                                                                                          \
		(void)o, (void)of;                                                                 \
		abort();                                                                           \
	}

ABSENT_VALUE(value_server_url)
ABSENT_VALUE(value_tunnel)
ABSENT_VALUE(value_tunnels)
ABSENT_VALUE(value_tunnel_local)
ABSENT_VALUE(value_tunnel_target)

/* Parts of the life of a program that serves: with nothing to do. */

WEAK const struct applet_part plugins_part = { 0 };
WEAK const struct applet_part nat_part = { 0 };
WEAK const struct applet_part manager_part = { 0 };
WEAK const struct applet_part report_part = { 0 };

WEAK void applet_make_plugins(struct applet *applet)
{
	(void)applet;
}

WEAK struct plugin *applet_plugin(const struct applet *applet, unsigned place)
{
	(void)applet, (void)place;
	return NULL;
}

WEAK void applet_open_rules(struct applet *applet)
{
	(void)applet;
}

WEAK bool applet_reload_rules(struct applet *applet)
{
	(void)applet;
	return false;
}

WEAK int tunnels_own(struct settings *settings)
{
	(void)settings;
	return 0;
}

WEAK int tunnels_complete(struct settings *settings, struct options_reason *reason)
{
	(void)settings, (void)reason;
	return 0;
}
