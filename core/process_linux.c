/*
 * What Linux alone has of core/process.h.
 */
#include "core/process.h"

#include "core/log.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

/* The kernel keeps 15 bytes; ours are shorter. */
void process_name(const char *name)
{
	prctl(PR_SET_NAME, name, 0, 0, 0);
}

void process_no_new_privs(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		log_warn("no_new_privs is not available here (%s): going on without",
			 strerror(errno));
}

void process_no_dumps(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
