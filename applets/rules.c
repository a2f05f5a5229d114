/*
 * The access control list of a program that serves: read at the start, and again on SIGHUP. One
 * for all services, which borrow it.
 */
#include "applets/running.h"

#include "core/log.h"
#include "net/acl.h"

#include <stdio.h>

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

/* NULL: an error was logged. A file without a byte is being written, in all likelihood, or is a
 * pipe that nobody writes to; without rules everything would be permitted. */
static struct acl *open_again(const char *path)
{
	char reason[ACL_REASON_MAX];
	struct acl *acl = acl_open(path, reason);

	if (acl && acl_count(acl).no_bytes) {
		snprintf(reason, sizeof(reason), "%.250s is empty", path);
		acl_close(acl);
		acl = NULL;
	}
	if (!acl)
		log_error("the rules stay as they are: %s", reason);
	return acl;
}

bool applet_reload_rules(struct applet *applet)
{
	struct acl *acl;

	if (!applet->acl)
		return false;
	acl = open_again(applet->settings.acl);
	if (!acl)
		return false;
	acl_close(applet->acl);
	applet->acl = acl;
	announce(applet);
	return true;
}
