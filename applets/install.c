/*
 * ss --install: the applets' names as links to the one executable. Called by ss.c; owns nothing.
 */
#include "applets/install.h"

#include "core/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Look for a command without a slash as the shell does. 0, or -1. */
static int find_in_path(const char *command, char *to)
{
	char candidate[PATH_MAX];

	for (const char *dir = getenv("PATH"); dir && *dir;) {
		size_t n = strcspn(dir, ":");

		if (snprintf(candidate, sizeof(candidate), "%.*s/%s", n ? (int)n : 1, n ? dir : ".",
			     command) < (int)sizeof(candidate) &&
		    access(candidate, X_OK) == 0 && realpath(candidate, to))
			return 0;
		dir += n + (dir[n] == ':');
	}
	return -1;
}

/* The path of the running executable into to[PATH_MAX]. 0, or -1. */
static int find_self(const char *argv0, char *to)
{
	char self[PATH_MAX];

	if (process_executable(self, sizeof self) && realpath(self, to))
		return 0;
	if (strchr(argv0, '/'))
		return realpath(argv0, to) ? 0 : -1;
	return find_in_path(argv0, to);
}

/* Without a symbolic link in the last place followed: is `path` that very file? */
static bool is_self(const char *dir, const char *name, const char *self)
{
	char real[PATH_MAX], path[PATH_MAX];

	return realpath(dir, real) &&
	       snprintf(path, sizeof(path), "%s/%s", real, name) < (int)sizeof(path) &&
	       strcmp(path, self) == 0;
}

static int fail(const char *path, const char *self, bool symbolic)
{
	if (errno == EXDEV)
		fprintf(stderr,
			"cannot hard-link %s to %s, which is on another file system: copy it "
			"there, or use -s\n",
			path, self);
	else
		fprintf(stderr, "cannot make %s a %s link to %s: %s\n", path,
			symbolic ? "symbolic" : "hard", self, strerror(errno));
	return -1;
}

/* Make the link under a name of its own, then rename it over what is there. */
static int install_link(const char *self, const char *dir, bool symbolic, const char *name)
{
	char path[PATH_MAX], fresh[PATH_MAX];
	int status;

	if (is_self(dir, name, self))
		return 0;
	if (snprintf(fresh, sizeof(fresh), "%s/.%s.%ld", dir, name, (long)getpid()) >=
	    (int)sizeof(fresh)) {
		errno = ENAMETOOLONG;
		return fail(dir, self, symbolic);
	}
	snprintf(path, sizeof(path), "%s/%s", dir, name);

	if ((symbolic ? symlink(self, fresh) : link(self, fresh)) < 0)
		return fail(path, self, symbolic);
	status = rename(fresh, path) < 0 ? fail(path, self, symbolic) : 0;
	/* It is still there if rename failed, or found two links to one file and did nothing. */
	unlink(fresh);
	return status;
}

/* Nothing is renamed over a directory: find that out first. */
static int find_directory(const char *self, const char *dir, bool symbolic, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	errno = EISDIR;
	return fail(path, self, symbolic);
}

int install_links(const char *argv0, const char *dir, bool symbolic, const char *const *names,
		  unsigned count)
{
	char self[PATH_MAX];

	if (find_self(argv0, self) < 0) {
		fprintf(stderr, "cannot find the executable that is running: %s\n", argv0);
		return -1;
	}
	for (unsigned i = 0; i < count; i++)
		if (find_directory(self, dir, symbolic, names[i]) < 0)
			return -1;
	for (unsigned i = 0; i < count; i++)
		if (install_link(self, dir, symbolic, names[i]) < 0)
			return -1;
	return 0;
}
