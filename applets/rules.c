/*
 * The access control list of a program that serves: read at the start, and again on SIGHUP. One
 * for all services, which borrow it.
 */
#include "applets/running.h"

#include "core/log.h"
#include "net/acl.h"

static void announce(const struct applet *applet)
{
	struct acl_counts n = acl_count(applet->acl);

	log_info("access control list %s: %u names, %u patterns, %u networks", applet->settings.acl,
		 n.names, n.patterns, n.networks);
}

void applet_open_rules(struct applet *applet)
{
	char reason[ACL_REASON_MAX];

	if (!applet->settings.acl)
		return;
	applet->acl = acl_open(applet->settings.acl, reason);
	if (!applet->acl)
		die("%s", reason);
	announce(applet);
}

bool applet_reload_rules(struct applet *applet)
{
	struct acl *old = applet->acl;
	char reason[ACL_REASON_MAX];

	if (!old)
		return false;
	applet->acl = acl_open(applet->settings.acl, reason);
	if (!applet->acl) {
		applet->acl = old;
		log_error("the rules stay as they are: %s", reason);
		return false;
	}
	acl_close(old);
	announce(applet);
	return true;
}
