/*
 * What the main process looks after besides the services; see running.h.
 */
#include "applets/running.h"

const struct applet_part *const applet_parts[] = {
	&nat_part,
	NULL,
};
