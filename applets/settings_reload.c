/*
 * The configuration file once more, while the program runs. Called on SIGHUP. What the flags said
 * is kept from the start, since a file is complete only with them; their secrets are not: a key
 * that did not come from the file stays what it is.
 */
#include "applets/settings.h"

#include "applets/settings_table.h"
#include "core/log.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

struct settings_start {
	struct settings flags; /* before the file was read */
	bool given[OPTION_ROWS_MAX];
	bool secret_elsewhere;
	struct prints prints; /* of the file */
};

static int no_memory(struct options_reason *reason)
{
	return settings_fail(reason, OPTIONS_FATAL, "the settings do not fit into memory");
}

/* A copy of what flags have said. */
static int copy_flags(struct settings *to, const struct settings *from)
{
	struct options o;

	*to = *from;
	to->start = NULL;
	o = settings_options(to, NULL);
	return options_own(&o) < 0 ? -1 : tunnels_own(to);
}

int settings_remember(struct settings *s, const struct options *o, struct options_reason *reason)
{
	struct settings_start *start = calloc(1, sizeof *start);

	if (!start)
		return no_memory(reason);
	s->start = start;
	memcpy(start->given, o->given, sizeof start->given);
	start->secret_elsewhere = s->top.password || s->top.key_text;
	randombytes_buf(start->prints.key, sizeof start->prints.key);
	return copy_flags(&start->flags, s) < 0 ? no_memory(reason) : 0;
}

void settings_secret_elsewhere(struct settings *s)
{
	if (s->start)
		s->start->secret_elsewhere = true;
}

struct prints *settings_prints(struct settings *s)
{
	return s->start ? &s->start->prints : NULL;
}

void settings_forget_start(struct settings *s)
{
	if (!s->start)
		return;
	settings_free(&s->start->flags);
	prints_free(&s->start->prints);
	free(s->start);
	s->start = NULL;
}

/* Read the file into *fresh and look at it as at the start. */
static int read_again(struct settings *s, struct settings *fresh, struct prints *prints,
		      struct options_reason *reason)
{
	struct settings_start *start = s->start;
	struct options o;

	if (copy_flags(fresh, &start->flags) < 0)
		return no_memory(reason);
	fresh->file = s->config;
	o = settings_options(fresh, reason);
	memcpy(o.given, start->given, sizeof o.given);
	memcpy(prints->key, start->prints.key, sizeof prints->key);
	if (settings_read_file(&o, s->config, prints, true) < 0)
		return -1;
	if (start->secret_elsewhere && !fresh->top.password && !fresh->top.key_text)
		fresh->top.kept = &s->top.key;
	return settings_check(fresh, reason);
}

static void warn_of_changes(const struct settings *s, const struct prints *prints)
{
	char names[400];

	if (prints_compare(&s->start->prints, prints, names, sizeof names) > 0)
		log_warn("changed in %s, but without effect before a new start: %s", s->config,
			 names);
}

int settings_reload(struct settings *s, struct options_reason *reason)
{
	struct prints prints = { .count = 0 };
	struct settings fresh;
	int result;

	if (!s->start)
		return settings_fail(reason, OPTIONS_FATAL, "there is no configuration file");
	result = read_again(s, &fresh, &prints, reason);
	if (result == 0 && s->program == PROGRAM_MANAGER)
		places_exchange_ports(s, &fresh);
	else if (result == 0)
		result = places_exchange_users(s, &fresh, reason);
	if (result == 0)
		warn_of_changes(s, &prints);
	places_forget(s);
	settings_free(&fresh);
	prints_free(&prints);
	return result ? -1 : 0;
}
