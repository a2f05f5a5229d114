/*
 * The file that says which process a daemon is. Called by core/process.c. A file left by another
 * process is overwritten, whether that process runs or not, as shadowsocks-libev does; but only
 * once we are up.
 */
#include "core/pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Open the directory of this path, and keep what comes after. */
static int open_directory(struct pidfile *file, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;
	char directory[PATH_MAX] = ".";

	if (n >= sizeof(directory) || strlen(name) >= sizeof(file->name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (n > 0) {
		memcpy(directory, path, n);
		directory[n] = 0;
	}
	memcpy(file->name, name, strlen(name) + 1);
	return open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_file(struct pidfile *file)
{
	int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = openat(file->directory, file->name, flags | O_CREAT | O_EXCL, 0644);

	file->created = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = openat(file->directory, file->name, flags);
	return fd;
}

/* Where everybody may make files, one of somebody else may be a trap: its owner can put any number
 * into it, and root stops that process. Elsewhere whoever made it was meant to, as scripts do that
 * run for a user of their own. */
static bool in_good_hands(int directory, const struct stat *file)
{
	struct stat s;

	if (file->st_uid == geteuid() || file->st_uid == 0)
		return true;
	return fstat(directory, &s) == 0 && !(s.st_mode & S_IWOTH);
}

/* /dev/null is a fine pid file; a second name of some other file is an attempt to have it
 * overwritten. */
static bool may_write(int directory, int fd)
{
	struct stat s;

	if (fstat(fd, &s) < 0)
		return false;
	if (S_ISCHR(s.st_mode))
		return true;
	if (!S_ISREG(s.st_mode))
		errno = EINVAL;
	else if (s.st_nlink != 1)
		errno = EMLINK;
	else if (!in_good_hands(directory, &s))
		errno = EPERM;
	else
		return true;
	return false;
}

int pidfile_open(struct pidfile *file, const char *path)
{
	int saved;

	*file = (struct pidfile){ .fd = -1, .directory = -1 };
	file->directory = open_directory(file, path);
	if (file->directory < 0)
		return -1;
	file->fd = open_file(file);
	if (file->fd >= 0 && may_write(file->directory, file->fd))
		return 0;
	saved = errno;
	if (file->fd >= 0)
		close(file->fd);
	close(file->directory);
	errno = saved;
	return -1;
}

static bool is_regular(const struct pidfile *file)
{
	struct stat s;

	return fstat(file->fd, &s) == 0 && S_ISREG(s.st_mode);
}

int pidfile_write(struct pidfile *file)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%ld", (long)getpid());

	if (is_regular(file) && ftruncate(file->fd, 0) < 0)
		return -1;
	if (pwrite(file->fd, text, (size_t)n, 0) != n)
		return -1;
	file->written = getpid();
	return 0;
}

/* Whether the name still belongs to the file we have open. */
static bool is_in_place(const struct pidfile *file)
{
	struct stat ours, there;

	return fstat(file->fd, &ours) == 0 && S_ISREG(ours.st_mode) &&
	       fstatat(file->directory, file->name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

static bool holds_our_number(const struct pidfile *file)
{
	char text[24] = "", ours[24];
	ssize_t n = pread(file->fd, text, sizeof(text) - 1, 0);

	snprintf(ours, sizeof(ours), "%ld", (long)file->written);
	return n > 0 && strcmp(text, ours) == 0;
}

void pidfile_remove(struct pidfile *file)
{
	if (file->written == 0 || file->written != getpid())
		return;
	/* Else a second daemon with the same file has taken it over. */
	if (!holds_our_number(file))
		return;
	/* As another user we may neither remove it nor, in root's directories, see it. */
	if (is_in_place(file) && unlinkat(file->directory, file->name, 0) == 0)
		file->written = 0;
	else if (ftruncate(file->fd, 0) == 0)
		file->written = 0;
}

void pidfile_abandon(struct pidfile *file)
{
	struct stat s;

	if (file->created && is_in_place(file) && fstat(file->fd, &s) == 0 && s.st_size == 0)
		unlinkat(file->directory, file->name, 0);
}
