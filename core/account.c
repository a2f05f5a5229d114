/*
 * See account.h. Called by core/process.c, and by who looks beforehand; owns nothing.
 */
#include "core/account.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 6, HOME = 5 /* of an entry in the file of users */ };

/* Digits only; (id)-1 means "leave it" to the system calls that change ids. */
static bool parse_id(const char *text, uint32_t *id)
{
	uint64_t n = 0;

	if (!text || !*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		n = n * 10 + (unsigned)(*text - '0');
		if (n >= UINT32_MAX)
			return false;
	}
	*id = (uint32_t)n;
	return true;
}

/* Cut a line at its colons; fields that are missing are NULL. */
static void split(char *line, char *fields[FIELDS])
{
	line[strcspn(line, "\r\n")] = 0;
	for (int i = 0; i < FIELDS; i++)
		fields[i] = strsep(&line, ":");
}

/* Whether nothing that is in it was missed: it may not be there at all. */
static bool close_whole(FILE *file, bool enough)
{
	bool whole = enough || !file || feof(file);

	if (file)
		fclose(file);
	return whole;
}

/* The entry with this name; else the first with this number. *name is then allocated. */
static bool find_user(struct account *account, const char *who, const char *path, char **name)
{
	uint32_t wanted = 0, uid, gid;
	bool number = parse_id(who, &wanted), found = false, called = false;
	FILE *file = fopen(path, "re");
	char *line = NULL, *fields[FIELDS];
	size_t size = 0;

	while (!called && file && getline(&line, &size, file) >= 0) {
		split(line, fields);
		if (!parse_id(fields[2], &uid) || !parse_id(fields[3], &gid))
			continue;
		called = strcmp(fields[0], who) == 0;
		if (!called && (!number || found || uid != wanted))
			continue;
		free(*name);
		*name = strdup(fields[0]);
		account->uid = uid;
		account->gid = gid;
		found = true;
	}
	free(line);
	if (!close_whole(file, called))
		return false;
	if (!found && number) {
		account->uid = wanted;
		account->gid = wanted;
	}
	return found || number;
}

static bool is_member(char *members, const char *name)
{
	char *member;

	while ((member = strsep(&members, ",")) != NULL) {
		if (strcmp(member, name) == 0)
			return true;
	}
	return false;
}

static bool has_group(const struct account *account, gid_t gid)
{
	for (size_t i = 0; i < account->n_groups; i++) {
		if (account->groups[i] == gid)
			return true;
	}
	return false;
}

static int find_groups(struct account *account, const char *name, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL, *fields[FIELDS];
	size_t size = 0;
	uint32_t gid;
	int result = 0;

	while (file && getline(&line, &size, file) >= 0) {
		split(line, fields);
		if (!fields[3] || !parse_id(fields[2], &gid) || !is_member(fields[3], name) ||
		    has_group(account, gid))
			continue;
		if (account->n_groups == ACCOUNT_GROUPS) {
			result = -2;
			break;
		}
		account->groups[account->n_groups++] = gid;
	}
	free(line);
	return close_whole(file, result < 0) ? result : -1;
}

int account_find(struct account *account, const char *who, const char *passwd, const char *group)
{
	char *name = NULL;
	int result = -1;

	if (*who && find_user(account, who, passwd, &name)) {
		account->groups[0] = account->gid;
		account->n_groups = 1;
		result = name ? find_groups(account, name, group) : 0;
	}
	free(name);
	return result;
}

char *account_home(uid_t uid, const char *passwd)
{
	FILE *file = fopen(passwd, "re");
	char *line = NULL, *fields[FIELDS], *home = NULL;
	size_t size = 0;
	uint32_t entry;

	while (file && !home && getline(&line, &size, file) >= 0) {
		split(line, fields);
		if (parse_id(fields[2], &entry) && entry == uid && fields[HOME])
			home = strdup(fields[HOME]);
	}
	free(line);
	if (file)
		fclose(file);
	return home;
}
