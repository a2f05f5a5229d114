/*
 * See workdir.h. The home of a user is what /etc/passwd says, as for shadowsocks-libev, not $HOME:
 * a manager that becomes another user would have root's otherwise.
 */
#include "applets/workdir.h"

#include "core/account.h"
#include "core/log.h"
#include "net/endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char shared[] = "/tmp/";

char *workdir_file(const char *directory, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		die("no memory for the name of a file");
	return path;
}

static bool is_home(const char *path)
{
	struct stat s;

	return path && path[0] == '/' && path[1] && stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

char *workdir_default(void)
{
	char *home = account_home(geteuid(), "/etc/passwd");
	char *path = workdir_file(is_home(home) ? home : "/tmp", ".shadowsocks");

	free(home);
	return path;
}

/* Where everybody may make files, a directory may be a trap. */
static bool is_ours(const char *path)
{
	struct stat s;

	if (lstat(path, &s) < 0)
		return false;
	if (S_ISDIR(s.st_mode) && s.st_uid == geteuid() && !(s.st_mode & 022))
		return true;
	errno = S_ISDIR(s.st_mode) || S_ISLNK(s.st_mode) ? EPERM : ENOTDIR;
	return false;
}

bool workdir_make(const char *path)
{
	struct stat s;

	if (mkdir(path, 0700) == 0)
		return true;
	if (errno != EEXIST)
		return false;
	if (!strncmp(path, shared, sizeof shared - 1))
		return is_ours(path);
	if (stat(path, &s) == 0 && S_ISDIR(s.st_mode))
		return true;
	errno = ENOTDIR;
	return false;
}

bool workdir_is_port(const char *address, struct endpoint *endpoint)
{
	return !strchr(address, '/') && endpoint_parse(endpoint, address, 0) == 0 && endpoint->port;
}
