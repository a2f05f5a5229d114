/*
 * What is wrong with the settings, in one sentence. Called wherever they are read and looked at.
 */
#include "applets/settings_table.h"

#include <stdarg.h>
#include <string.h>

int settings_fail(struct options_reason *reason, enum options_why why, const char *format, ...)
{
	va_list args;

	reason->why = why;
	va_start(args, format);
	vsnprintf(reason->text, sizeof reason->text, format, args);
	va_end(args);
	return -1;
}

/* One that came with a request is in no list, and in no file. */
static bool is_listed(const struct settings *s, const struct settings_place *place)
{
	for (unsigned i = 0; i < s->element_count; i++)
		if (place == &s->elements[i])
			return true;
	return place == &s->top;
}

int settings_concerns(const struct settings *s, const struct settings_place *place,
		      const struct settings_spot *at, struct options_reason *reason)
{
	char why[OPTION_REASON_MAX], where[OPTION_REASON_MAX / 2] = "", which[32] = "";
	const char *file = s->file ? s->file : s->config;

	if (!is_listed(s, place))
		return -1;

	memcpy(why, reason->text, sizeof why);
	if (at->line && file)
		snprintf(where, sizeof where, "%.250s:%u:%u: ", file, (unsigned)at->line,
			 (unsigned)at->column);
	if (place != &s->top)
		snprintf(which, sizeof which, "servers[%u]: ", (unsigned)(place - s->elements));
	snprintf(reason->text, sizeof reason->text, "%s%s%.*s", where, which,
		 (int)(sizeof why - strlen(where) - strlen(which) - 1), why);
	return -1;
}

void settings_about(struct options_reason *reason, const char *format, ...)
{
	char why[OPTION_REASON_MAX], what[120];
	va_list args;

	memcpy(why, reason->text, sizeof why);
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	snprintf(reason->text, sizeof reason->text, "%s: %.*s", what,
		 (int)(sizeof why - strlen(what) - 3), why);
}

bool settings_told(const struct settings *s, struct options_reason *reason)
{
	if (!s->tell)
		return false;
	if (reason->text[0])
		s->tell(reason->text);
	reason->text[0] = 0;
	return true;
}

int settings_steps(struct settings *s, const settings_step *steps, struct options_reason *reason)
{
	int result = 0;

	for (; *steps; steps++)
		if ((*steps)(s, reason) < 0) {
			result = -1;
			if (!settings_told(s, reason))
				break;
		}
	return result;
}
