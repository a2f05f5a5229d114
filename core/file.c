/* See file.h. The stamp is taken before the file is read: a change in between is seen next time. */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#ifdef __APPLE__ /* its names, older than POSIX's */
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool file_changed(const char *path, struct file_stamp *stamp)
{
	struct file_stamp now = { 0 };
	struct stat st;

	if (stat(path, &st) == 0)
		now = (struct file_stamp){
			.device = st.st_dev,
			.inode = st.st_ino,
			.size = st.st_size,
			.written = st.st_mtim,
			.changed = st.st_ctim,
		};
	bool same = now.device == stamp->device && now.inode == stamp->inode &&
		    now.size == stamp->size && same_time(&now.written, &stamp->written) &&
		    same_time(&now.changed, &stamp->changed);
	*stamp = now;
	return !same;
}

ssize_t file_read(const char *path, char *to, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t have = 0;
	ssize_t got = 0;

	if (fd < 0)
		return -1;
	while (have < n && (got = read(fd, to + have, n - have)) != 0) {
		if (got > 0)
			have += (size_t)got;
		else if (errno != EINTR)
			break;
	}
	int saved = errno;
	close(fd);
	errno = saved;
	return got < 0 ? -1 : (ssize_t)have;
}

/* musl forgets what it could not write: to flush the rest may work then. */
bool file_written(FILE *file)
{
	return fflush(file) == 0 && !ferror(file);
}

bool file_answered(const char *program)
{
	if (file_written(stdout))
		return true;
	fprintf(stderr, "%s: the answer cannot be written\n", program);
	return false;
}
