/*
 * The command line, as getopt_long() would take it: clusters, abbreviated long names, --name=value.
 */
#include "core/options_store.h"

#include <sodium.h>
#include <string.h>

/* Store what a flag says; `text` is its argument and lies in argv. */
static int flag(struct options *o, const struct option_row *row, const char *what, char *text)
{
	int result;

	o->where[0] = 0;
	snprintf(o->what, sizeof o->what, "option %s", what);
	if (options_lacks(o, row))
		return options_misused(o, "%s is not in this build, which was made without %s",
				       o->what, o->without);
	if (text && !*text && (row->bits & OPTION_FILLED))
		return options_fail(o, "must not be empty");
	o->given[row - o->rows] = true;
	result = options_store(o, row, &(struct option_value){ .text = text });
	if (text && (row->bits & OPTION_SECRET))
		sodium_memzero(text, strlen(text));
	if (result < 0 && row->type != OPTION_STOP && options_told(o)) {
		o->failed = true;
		return 0;
	}
	return result;
}

/* What a flag's argument is called; NULL: it takes none. */
static const char *argument_of(const struct option_row *row)
{
	const char *blank = strrchr(row->flag, ' ');

	return blank && blank[1] != '-' ? blank + 1 : NULL;
}

/* The row with a letter, or NULL. */
static const struct option_row *by_letter(const struct options *o, char letter)
{
	for (unsigned i = 0; i < o->count; i++) {
		const char *flag = o->rows[i].flag;

		if (flag && flag[1] == letter && letter != '-' && options_takes(o, &o->rows[i]))
			return &o->rows[i];
	}
	return NULL;
}

/* argv[0] is "-xyz": the words used, or -1. */
static int cluster(struct options *o, int argc, char **argv)
{
	for (char *p = argv[0] + 1; *p; p++) {
		const struct option_row *row = by_letter(o, *p);
		const char name[] = { '-', *p, 0 };

		if (!row)
			return options_misused(o, "Unrecognized option: %s", name);
		if (!argument_of(row)) {
			if (flag(o, row, name, NULL) < 0)
				return -1;
			continue;
		}
		if (p[1])
			return flag(o, row, name, p + 1) < 0 ? -1 : 1;
		if (argc < 2)
			return options_misused(o, "option %s needs an argument: %s", name,
					       argument_of(row));
		return flag(o, row, name, argv[1]) < 0 ? -1 : 2;
	}
	return 1;
}

/* The long name of a flag, of *n bytes, or NULL. */
static const char *long_name(const struct option_row *row, size_t *n)
{
	const char *flag = row->flag;

	if (flag && flag[1] != '-')
		flag = flag[2] == ',' ? flag + strlen("-k, ") : NULL;
	*n = flag ? strcspn(flag + 2, " ") : 0;
	return flag ? flag + 2 : NULL;
}

/* The row of a long name that may be abbreviated: an exact one, else the only one that begins so,
 * where rows of ours count only if no other does. *candidates: how many begin so. */
static const struct option_row *by_name(const struct options *o, const char *name, size_t n,
					unsigned *candidates)
{
	const struct option_row *found = NULL;

	*candidates = 0;
	for (unsigned i = 0; i < o->count; i++) {
		const struct option_row *row = &o->rows[i];
		size_t whole;
		const char *its = long_name(row, &whole);

		if (!its || n > whole || !options_takes(o, row) || memcmp(its, name, n) != 0)
			continue;
		if (n == whole) {
			*candidates = 1;
			return row;
		}
		if (!found || ((found->bits & ~row->bits) & OPTION_OURS)) {
			found = row;
			*candidates = 1;
		} else if (!((row->bits & ~found->bits) & OPTION_OURS)) {
			++*candidates;
		}
	}
	return found;
}

/* argv[0] is "--name" or "--name=argument": the words used, or -1. */
static int long_option(struct options *o, int argc, char **argv)
{
	char *equals = strchr(argv[0], '=');
	size_t n = equals ? (size_t)(equals - argv[0]) : strlen(argv[0]);
	unsigned candidates;
	const struct option_row *row = by_name(o, argv[0] + 2, n - 2, &candidates);
	char name[sizeof o->what / 2];

	if (!row)
		return options_misused(o, "Unrecognized option: %.*s", (int)(n > 60 ? 60 : n),
				       argv[0]);
	if (candidates > 1)
		return options_misused(o, "option %.*s may mean several", (int)(n > 60 ? 60 : n),
				       argv[0]);
	const char *its = long_name(row, &n);
	snprintf(name, sizeof name, "--%.*s", (int)n, its);
	if (!argument_of(row)) {
		if (equals)
			return options_misused(o, "option %s takes no argument", name);
		return flag(o, row, name, NULL) < 0 ? -1 : 1;
	}
	if (equals)
		return flag(o, row, name, equals + 1) < 0 ? -1 : 1;
	if (argc < 2)
		return options_misused(o, "option %s needs an argument: %s", name,
				       argument_of(row));
	return flag(o, row, name, argv[1]) < 0 ? -1 : 2;
}

int options_flags(struct options *o, int argc, char **argv)
{
	for (int i = 1, used; i < argc; i += used) {
		if (!strcmp(argv[i], "--"))
			break;
		if (argv[i][0] == '-' && argv[i][1] == '-')
			used = long_option(o, argc - i, argv + i);
		else if (argv[i][0] == '-' && argv[i][1])
			used = cluster(o, argc - i, argv + i);
		else
			used = 1; /* an operand: ignored, as ever */
		if (used < 0)
			return -1;
	}
	return o->failed ? -1 : 0;
}
