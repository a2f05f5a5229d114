/*
 * Between the files of the options reader: reasons, and one value into one field.
 */
#ifndef CORE_OPTIONS_STORE_H
#define CORE_OPTIONS_STORE_H

#include "core/options.h"

/* Show this much of a wrong value. */
#define SHOWN "%.60s"

/* The reason: fatal, behind the place in the file; or a command line that cannot be understood.
 * -1. */
__attribute__((format(printf, 2, 3))) int options_fatal(struct options *options, const char *format,
							...);
__attribute__((format(printf, 2, 3))) int options_misused(struct options *options,
							  const char *format, ...);

/* Whether this program takes the row. */
bool options_takes(const struct options *options, const struct option_row *row);

/* Whether this build lacks what the row needs. */
bool options_lacks(const struct options *options, const struct option_row *row);

/* The line of help of a row that is a flag. */
const char *options_help_line(const struct option_row *row);

void *options_field(const struct options *options, const struct option_row *row);

/* Free a string of malloc(), wiped if it is a secret; it is NULL then. */
void options_forget(char **string, bool secret);

/* Put a value where its row says. 0, or -1 with the reason. */
int options_store(struct options *options, const struct option_row *row,
		  const struct option_value *value);

#endif
