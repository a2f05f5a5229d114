/*
 * Options from a table: one row says how a value is spelled as a flag and as a JSON key, what it
 * may be, where it goes in a struct and which programs take it. Flags follow getopt_long():
 * clusters, abbreviated long names, --name=value, operands (ignored) anywhere. No I/O but warnings
 * to the log; errors are handed back as a reason, so that a reload can survive them. What the
 * rows are is the caller's business.
 */
#ifndef CORE_OPTIONS_H
#define CORE_OPTIONS_H

#include "core/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { OPTION_ROWS_MAX = 96, OPTION_REASON_MAX = 600 };

enum option_type {
	OPTION_BOOL,   /* bool; a flag without argument sets it, JSON takes true and false */
	OPTION_SET,    /* uint8_t; a flag without argument, stores `value` */
	OPTION_STRING, /* char *, of malloc(); JSON takes numbers too; "" is as good as absent; a
			  row->custom may refuse it */
	OPTION_NUMBER, /* unsigned, in `range`; JSON takes a number or its digits in a string */
	OPTION_PORT,   /* uint16_t, 1 to 65535; JSON takes a number or its digits in a string */
	OPTION_LIST,   /* row->custom for each item; the flag repeats, JSON takes one or an array */
	OPTION_WORD, /* uint8_t, the index into `words`; other words warn and count as the first */
	OPTION_CUSTOM, /* row->custom decides */
	OPTION_STOP,   /* end parsing with reason `value`, an enum options_why (help, version) */
	OPTION_REFUSE, /* fatal; the line of help is the reason */
	OPTION_IGNORE  /* accepted for old scripts, without effect */
};

enum option_bits {
	OPTION_LENIENT = 1, /* numbers: what is no number warns and counts as atoi() sees it */
	OPTION_TEXT = 2,    /* numbers: lenient with strings of JSON, too */
	OPTION_SECRET = 4,  /* never shown; overwritten in argv and when freed */
	/* younger than the scripts that abbreviate: loses against rows without it */
	OPTION_OURS = 8,
	OPTION_HIDDEN = 16, /* not in the help text */
	OPTION_FILLED = 32, /* the argument of the flag must not be empty */
	OPTION_ZERO = 64 /* lenient numbers: 0 stands for the default, in the help's parentheses */
};

struct options;

/* One value that was given: `text`, or `json` as it stands in the file. Neither: a list begins
 * anew. */
struct option_value {
	const char *text;
	const struct json *json;
};

struct option_row {
	uint8_t type;	  /* enum option_type */
	uint8_t bits;	  /* enum option_bits */
	uint8_t programs; /* bit mask of those that take it */
	uint16_t needs;	  /* bit mask of parts that a build may lack */
	uint16_t offset;  /* of the field; rows with the same offset are spellings of one thing */
	const char *flag; /* made by OPTION_FLAG(); NULL: none */
	const char *key;  /* JSON; NULL: none */
	union {
		struct {
			unsigned min, max;
		} range;		  /* OPTION_NUMBER */
		uint8_t value;		  /* OPTION_SET, OPTION_STOP */
		const char *const *words; /* OPTION_WORD; NULL after the last */
		int (*custom)(struct options *,
			      const struct option_value *); /* 0, or -1 after options_fail() */
	};
};

/* A flag as the help shows it, "-t SECONDS", "-k, --password TEXT" or "--version", and its line of
 * help. They are one text, with a NUL between: what costs most in a table are addresses. */
#define OPTION_FLAG(spelled, help) .flag = spelled "\0" help

enum options_why { OPTIONS_OK, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_USAGE, OPTIONS_FATAL };

struct options_reason {
	enum options_why why;
	char text[OPTION_REASON_MAX]; /* one sentence, for USAGE and FATAL */
};

struct options {
	const struct option_row *rows;
	unsigned count;
	const char *(*program_name)(unsigned bit);
	unsigned program; /* one bit */
	/* What this build lacks, and what it was made without, in words: rows that need it are
	 * known, but neither listed nor taken. */
	unsigned lacks;
	const char *without;
	void *into; /* the struct with the fields; defaults are there already */
	struct options_reason *reason;
	/* of which this reads a part, and which counts its warnings; or NULL */
	struct options *whole;
	/* Gets the reason of each faulty value, and the rest is read to the end; the reason of the
	 * whole is empty then. NULL: the first one ends it. */
	void (*tell)(const char *reason);
	bool failed; /* a flag's value was told */
	bool shared; /* keys of other programs are no mistake */
	/* The rest belongs to options.c and options_flags.c. */
	unsigned warnings; /* about the file */
	const char *file;
	bool given[OPTION_ROWS_MAX];	   /* as a flag: stronger than JSON */
	bool seen[OPTION_ROWS_MAX];	   /* as a key */
	char where[OPTION_REASON_MAX / 2]; /* "file:line:column: ", or empty */
	char what[80];			   /* "key 'mtu'", "option --mtu" */
};

/* Whether to go on after a fault: there is somebody to be told of each, and has been. */
bool options_told(struct options *options);

/* Read flags from argv[1..argc). 0, or -1 with the reason. Secrets are overwritten in argv. */
int options_flags(struct options *options, int argc, char **argv);

/* Read the members of a configuration object, except what flags have set. `file` names it in
 * messages. Keys that are not known or belong to other programs warn. 0, or -1 with the reason. */
int options_json(struct options *options, const char *file, const struct json *root);

/* For custom rows: the reason or a warning, preceded by where the value stands and its name. Never
 * with a secret in it. options_fail() returns -1. After 20 warnings about a file the rest is
 * counted and said in one line. */
__attribute__((format(printf, 2, 3))) int options_fail(struct options *options, const char *format,
						       ...);
__attribute__((format(printf, 2, 3))) void options_warn(struct options *options, const char *format,
							...);

/* For custom rows: from here on, messages point at this part of the value. */
void options_at(struct options *options, const struct json *part);

/* For custom rows: the text of a string (without NUL) or number, or NULL after failing; `kinds`
 * says what is allowed: "a string or an object". */
const char *options_text(struct options *options, const struct option_value *value,
			 const char *kinds);

/* For custom rows: a flag has set the field with this offset, too. */
void options_give(struct options *options, size_t offset);

/* A port in text: 0, or -1. Digits only, 1 to 65535. */
int options_port(const char *text, uint16_t *port);

/* The rows of one program, one line each. */
void options_help(const struct options *options, FILE *to);

/* True if this program reads the key, and no flag has set the same thing. */
bool options_reads(const struct options *options, const char *key);

/* The struct was copied: give it strings of its own, but no secrets. 0, or -1: no memory; it is to
 * be freed either way. */
int options_own(struct options *options);

/* Free (and wipe) the strings; the fields are then NULL. Custom fields are the caller's. */
void options_free(struct options *options);

#endif
