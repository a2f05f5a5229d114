/* The links that `ss --install` makes, to the running test program, in a directory beside it. */
#include "applets/install.h"

#include "tests/unit.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = { "ss-one", "ss-two" };
static char self[PATH_MAX], dir[PATH_MAX + 16];

static const char *in_dir(const char *name)
{
	static char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int make_dir(void **state)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	if (n < 0)
		return -1;
	self[n] = '\0';
	snprintf(dir, sizeof(dir), "%s.XXXXXX", self);
	return mkdtemp(dir) ? 0 : -1;
}

/* Fails if anything but the two names was left behind. */
static int remove_dir(void **state)
{
	(void)state;
	unlink(in_dir("ss-one"));
	unlink(in_dir("ss-two"));
	return rmdir(dir);
}

static int install(bool symbolic)
{
	return install_links("ss", dir, symbolic, names, 2);
}

static bool is_hard(const char *name)
{
	struct stat ours, theirs;

	return stat(self, &ours) == 0 && lstat(in_dir(name), &theirs) == 0 &&
	       ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

static bool is_symbolic(const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlink(in_dir(name), target, sizeof(target));

	return n == (ssize_t)strlen(self) && memcmp(target, self, (size_t)n) == 0;
}

static void hard_links(void **state)
{
	(void)state;
	assert_int_equal(install(false), 0);
	assert_true(is_hard("ss-one") && is_hard("ss-two"));
	/* over themselves: nothing changes, nothing is left */
	assert_int_equal(install(false), 0);
	assert_true(is_hard("ss-one") && is_hard("ss-two"));
}

static void symbolic_links(void **state)
{
	(void)state;
	assert_int_equal(install(true), 0);
	assert_true(is_symbolic("ss-one") && is_symbolic("ss-two"));
}

static void replaces(void **state)
{
	FILE *old = fopen(in_dir("ss-one"), "w");

	(void)state;
	assert_non_null(old);
	fclose(old);
	assert_int_equal(symlink("/nowhere", in_dir("ss-two")), 0);
	assert_int_equal(install(false), 0);
	assert_true(is_hard("ss-one") && is_hard("ss-two"));
	assert_int_equal(install(true), 0);
	assert_true(is_symbolic("ss-one") && is_symbolic("ss-two"));
}

/* A directory in the way is no reason to remove it, nor to make the links before it. */
static void refuses(void **state)
{
	(void)state;
	assert_int_equal(mkdir(in_dir("ss-two"), 0700), 0);
	assert_int_equal(install(false), -1);
	assert_int_equal(access(in_dir("ss-one"), F_OK), -1);
	assert_int_equal(symlink("/nowhere", in_dir("ss-one")), 0);
	assert_int_equal(install(true), -1);
	assert_false(is_symbolic("ss-one"));
	assert_int_equal(rmdir(in_dir("ss-two")), 0);
	assert_int_equal(install_links("ss", in_dir("missing"), false, names, 2), -1);
}

/* The running file itself is never replaced by a link to itself. */
static void spares_itself(void **state)
{
	const char *own[] = { strrchr(self, '/') + 1 };
	char beside[PATH_MAX];
	struct stat st;

	(void)state;
	snprintf(beside, sizeof(beside), "%.*s", (int)(own[0] - self), self);
	assert_int_equal(install_links("ss", beside, true, own, 1), 0);
	assert_int_equal(lstat(self, &st), 0);
	assert_true(S_ISREG(st.st_mode));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hard_links, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(symbolic_links, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(replaces, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(refuses, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(spares_itself, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
