/*
 * See cgroup.h. Called once or twice, when a program starts.
 */
#include "core/cgroup.h"

#include <stdio.h>
#include <string.h>

#define ROOT "/sys/fs/cgroup"

static bool read_text(const char *path, char text[CGROUP_TEXT])
{
	FILE *file = fopen(path, "re");
	size_t n;

	if (!file)
		return false;
	n = fread(text, 1, CGROUP_TEXT - 1, file);
	fclose(file);
	text[n] = 0;
	return n > 0;
}

bool cgroup_read(const char *name, char text[CGROUP_TEXT])
{
	char path[CGROUP_TEXT];

	snprintf(path, sizeof path, ROOT "%s", name);
	return read_text(path, text);
}

/* The path of the process's group, "" for the root; NULL: there is none. It lies in `groups`. */
static char *own_group(char groups[CGROUP_TEXT])
{
	char *path;

	if (!read_text("/proc/self/cgroup", groups))
		return NULL;
	path = strncmp(groups, "0::/", 4) == 0 ? groups : strstr(groups, "\n0::/");
	if (!path)
		return NULL;
	path = strchr(path, '/');
	path[strcspn(path, "\n")] = 0;
	return path[1] ? path : path + 1;
}

void cgroup_upwards(const char *name, void (*look)(const char *text, void *own), void *own)
{
	char groups[CGROUP_TEXT], file[CGROUP_TEXT + 64], text[CGROUP_TEXT];
	char *path = own_group(groups), *end;

	while (path) {
		snprintf(file, sizeof file, ROOT "%s/%s", path, name);
		if (read_text(file, text))
			look(text, own);
		end = strrchr(path, '/');
		if (!end)
			return;
		*end = 0;
	}
}
