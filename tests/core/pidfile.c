#include "core/pidfile.h"

#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/pidfile-test-XXXXXX";
static char path[64], other[64];

static void put(const char *at, const char *text)
{
	FILE *file = fopen(at, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void expect(const char *at, const char *text)
{
	char have[64] = "";
	FILE *file = fopen(at, "r");
	size_t n;

	assert_non_null(file);
	n = fread(have, 1, sizeof(have) - 1, file);
	fclose(file);
	assert_int_equal(n, strlen(text));
	assert_string_equal(have, text);
}

static const char *our_number(void)
{
	static char text[24];

	snprintf(text, sizeof(text), "%ld", (long)getpid());
	return text;
}

static int clean(void **unused)
{
	(void)unused;
	unlink(path);
	unlink(other);
	return 0;
}

static void release(struct pidfile *file)
{
	close(file->fd);
	close(file->directory);
}

static void it_is_written_and_removed(void **unused)
{
	struct pidfile file;

	(void)unused;
	assert_int_equal(pidfile_open(&file, path), 0);
	expect(path, "");
	assert_int_equal(pidfile_write(&file), 0);
	expect(path, our_number());
	pidfile_remove(&file);
	assert_int_equal(access(path, F_OK), -1);
	pidfile_remove(&file);
	release(&file);
}

static void an_old_one_stays_until_we_are_up(void **unused)
{
	struct pidfile file;

	(void)unused;
	put(path, "1234567890 and more than a number");
	assert_int_equal(pidfile_open(&file, path), 0);
	expect(path, "1234567890 and more than a number");
	pidfile_abandon(&file);
	pidfile_remove(&file);
	expect(path, "1234567890 and more than a number");
	assert_int_equal(pidfile_write(&file), 0);
	expect(path, our_number());
	pidfile_remove(&file);
	assert_int_equal(access(path, F_OK), -1);
	release(&file);
}

static void one_made_for_nothing_goes(void **unused)
{
	struct pidfile file;

	(void)unused;
	assert_int_equal(pidfile_open(&file, path), 0);
	pidfile_abandon(&file);
	assert_int_equal(access(path, F_OK), -1);
	release(&file);
}

static void links_are_not_followed(void **unused)
{
	struct pidfile file;

	(void)unused;
	put(other, "precious");
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(pidfile_open(&file, path), -1);
	assert_int_equal(errno, ELOOP);
	unlink(path);
	assert_int_equal(link(other, path), 0);
	assert_int_equal(pidfile_open(&file, path), -1);
	assert_int_equal(errno, EMLINK);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(pidfile_open(&file, path), -1);
	assert_int_equal(errno, EINVAL);
	expect(other, "precious");
}

static void a_strangers_file_is_refused_where_all_may_write(void **unused)
{
	struct pidfile file;

	(void)unused;
	if (geteuid() != 0) {
		print_message("skipped: only root can make a file that is somebody else's\n");
		skip();
	}
	put(path, "1");
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_int_equal(chmod(directory, 01777), 0);
	assert_int_equal(pidfile_open(&file, path), -1);
	assert_int_equal(errno, EPERM);
	expect(path, "1");
	assert_int_equal(chmod(directory, 0755), 0);
	assert_int_equal(pidfile_open(&file, path), 0);
	release(&file);
	assert_int_equal(chmod(directory, 01777), 0);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(pidfile_open(&file, path), 0);
	release(&file);
	assert_int_equal(chmod(directory, 0700), 0);
}

static void what_cannot_be_a_file_is_refused(void **unused)
{
	char text[PATH_MAX + 10];
	struct pidfile file;

	(void)unused;
	assert_int_equal(pidfile_open(&file, directory), -1);
	assert_int_equal(errno, EISDIR);
	assert_int_equal(pidfile_open(&file, ""), -1);
	assert_int_equal(errno, ENOENT);
	snprintf(text, sizeof(text), "%s/none/file", directory);
	assert_int_equal(pidfile_open(&file, text), -1);
	assert_int_equal(errno, ENOENT);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(pidfile_open(&file, text), -1);
	assert_int_equal(errno, ENAMETOOLONG);
	text[sizeof(text) - 3] = '/';
	assert_int_equal(pidfile_open(&file, text), -1);
	assert_int_equal(errno, ENAMETOOLONG);
}

static void a_device_takes_it(void **unused)
{
	struct pidfile file;

	(void)unused;
	assert_int_equal(pidfile_open(&file, "/dev/null"), 0);
	assert_int_equal(pidfile_write(&file), 0);
	pidfile_remove(&file);
	assert_int_equal(access("/dev/null", F_OK), 0);
	release(&file);
}

static void a_relative_path_survives_chdir(void **unused)
{
	struct pidfile file;
	char old[PATH_MAX];

	(void)unused;
	assert_non_null(getcwd(old, sizeof(old)));
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(pidfile_open(&file, strrchr(path, '/') + 1), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(pidfile_write(&file), 0);
	expect(path, our_number());
	pidfile_remove(&file);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(chdir(old), 0);
	release(&file);
}

static void what_became_anothers_stays(void **unused)
{
	struct pidfile file;

	(void)unused;
	assert_int_equal(pidfile_open(&file, path), 0);
	assert_int_equal(pidfile_write(&file), 0);
	put(path, "99999"); /* the same file, a new number */
	pidfile_remove(&file);
	expect(path, "99999");
	release(&file);

	assert_int_equal(pidfile_open(&file, path), 0);
	assert_int_equal(pidfile_write(&file), 0);
	unlink(path);
	put(path, our_number()); /* a new file */
	pidfile_remove(&file);
	expect(path, our_number());
	release(&file);
}

static void a_child_does_not_remove_it(void **unused)
{
	struct pidfile file;
	pid_t pid;

	(void)unused;
	assert_int_equal(pidfile_open(&file, path), 0);
	assert_int_equal(pidfile_write(&file), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		pidfile_remove(&file);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	expect(path, our_number());
	pidfile_remove(&file);
	release(&file);
}

/* Opened by root in a directory of root's, removed as another user: empty is the best there is. */
static void after_the_user_changed_it_is_emptied(void **unused)
{
	struct pidfile file;
	pid_t pid;
	int status;

	(void)unused;
	if (geteuid() != 0) {
		print_message("SKIPPED: needs root to become another user\n");
		skip();
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (pidfile_open(&file, path) < 0 || setgid(65534) < 0 || setuid(65534) < 0 ||
		    pidfile_write(&file) < 0)
			_exit(1);
		pidfile_remove(&file);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	expect(path, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(it_is_written_and_removed, clean),
		cmocka_unit_test_setup(an_old_one_stays_until_we_are_up, clean),
		cmocka_unit_test_setup(one_made_for_nothing_goes, clean),
		cmocka_unit_test_setup(links_are_not_followed, clean),
		cmocka_unit_test_setup(a_strangers_file_is_refused_where_all_may_write, clean),
		cmocka_unit_test_setup(what_cannot_be_a_file_is_refused, clean),
		cmocka_unit_test_setup(a_device_takes_it, clean),
		cmocka_unit_test_setup(a_relative_path_survives_chdir, clean),
		cmocka_unit_test_setup(what_became_anothers_stays, clean),
		cmocka_unit_test_setup(a_child_does_not_remove_it, clean),
		cmocka_unit_test_setup(after_the_user_changed_it_is_emptied, clean),
	};
	int failed;

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/pid", directory);
	snprintf(other, sizeof(other), "%s/other", directory);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	clean(NULL);
	rmdir(directory);
	return failed;
}
