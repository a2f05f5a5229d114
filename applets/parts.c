/*
 * What the main process looks after besides the services; see running.h.
 */
#include "applets/running.h"

const struct applet_part *const applet_parts[] = {
	&plugins_part, &nat_part, &manager_part, &report_part, NULL,
};
