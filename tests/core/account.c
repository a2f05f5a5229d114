#include "core/account.h"

#include "tests/getline.h"
#include "tests/unit.h"

#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/account-test-XXXXXX";
static char passwd[64], group[64];

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int find(struct account *account, const char *who)
{
	memset(account, 0xa5, sizeof(*account));
	return account_find(account, who, passwd, group);
}

static void users_are_found_by_name_and_number(void **unused)
{
	struct account a;

	(void)unused;
	put(passwd, "root:x:0:0:root:/root:/bin/sh\n"
		    "# a comment\n"
		    ":x:5:5::/:\n"
		    "short:x:7\n"
		    "odd:x:12a:7::/:\n"
		    "alice:x:1000:100:Alice:/home/alice:/bin/sh\n"
		    "twin:x:1000:101::/:/bin/sh\n"
		    "1000:x:55:56::/:/bin/sh\n"
		    "last:x:2000:2001::/:");
	put(group, "");
	assert_int_equal(find(&a, "alice"), 0);
	assert_int_equal(a.uid, 1000);
	assert_int_equal(a.gid, 100);
	assert_int_equal(a.n_groups, 1);
	assert_int_equal(a.groups[0], 100);
	assert_int_equal(find(&a, "twin"), 0);
	assert_int_equal(a.gid, 101);
	assert_int_equal(find(&a, "1000"), 0); /* a name, if there is one */
	assert_int_equal(a.uid, 55);
	assert_int_equal(find(&a, "last"), 0);
	assert_int_equal(a.gid, 2001);
	assert_int_equal(find(&a, "2000"), 0);
	assert_int_equal(a.gid, 2001);
	assert_int_equal(find(&a, "0"), 0);
	assert_int_equal(a.uid, 0);
	assert_int_equal(find(&a, "4242"), 0); /* no entry */
	assert_int_equal(a.uid, 4242);
	assert_int_equal(a.gid, 4242);
}

static void nobody_else_is_found(void **unused)
{
	static const char *const names[] = {
		"",   "bob", "ali",   "alice2", "alice:x",    "-1",
		"+5", " 5",  "0x0",   "5 ",	"4294967295", "18446744073709551616",
		"#",  "odd", "short",
	};
	struct account a;

	(void)unused;
	put(passwd,
	    "alice:x:1000:100::/:\nodd:x:12a:7::/:\nshort:x:7\n:x:5:5::/:\nneg:x:-1:-1::/:\n");
	put(group, "");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(find(&a, names[i]), -1);
	assert_int_equal(find(&a, "neg"), -1);
}

static void groups_are_those_of_the_user(void **unused)
{
	struct account a;

	(void)unused;
	put(passwd, "alice:x:1000:100::/:\nbob:x:1001:100::/:\n");
	put(group, "root:x:0:\n"
		   "wheel:x:10:bob,alice\n"
		   "users:x:100:alice\n" /* the first group again */
		   "adm:x:11:alice2,xalice\n"
		   "broken:x:zz:alice\n"
		   "noline\n"
		   "audio:x:12:alice\r\n"
		   "video:x:13:bob");
	assert_int_equal(find(&a, "alice"), 0);
	assert_int_equal(a.n_groups, 3);
	assert_int_equal(a.groups[0], 100);
	assert_int_equal(a.groups[1], 10);
	assert_int_equal(a.groups[2], 12);
	assert_int_equal(find(&a, "1001"), 0); /* the number finds the name, and that the groups */
	assert_int_equal(a.n_groups, 3);
	assert_int_equal(a.groups[2], 13);
	assert_int_equal(find(&a, "1002"), 0);
	assert_int_equal(a.n_groups, 1);
}

static void more_groups_than_fit(void **unused)
{
	struct account a;
	FILE *file = fopen(group, "w");

	(void)unused;
	assert_non_null(file);
	for (int i = 0; i < 400; i++)
		fprintf(file, "g%d:x:%d:alice\n", i, 3000 + i);
	assert_int_equal(fclose(file), 0);
	put(passwd, "alice:x:1000:100::/:\n");
	assert_int_equal(find(&a, "alice"), -2);
	assert_int_equal(a.n_groups, ACCOUNT_GROUPS);
	assert_int_equal(a.groups[ACCOUNT_GROUPS - 1], 3000 + ACCOUNT_GROUPS - 2);
}

static void an_empty_root_has_numbers(void **unused)
{
	struct account a;

	(void)unused;
	unlink(passwd);
	unlink(group);
	assert_int_equal(find(&a, "65534"), 0);
	assert_int_equal(a.uid, 65534);
	assert_int_equal(a.gid, 65534);
	assert_int_equal(a.n_groups, 1);
	assert_int_equal(find(&a, "nobody"), -1);
}

/* A directory can be opened, and not be read: who is in it is not known. */
static void what_cannot_be_read(void **unused)
{
	struct account a;

	(void)unused;
	unlink(passwd);
	assert_int_equal(mkdir(passwd, 0700), 0);
	assert_int_equal(find(&a, "65534"), -1);
	assert_int_equal(rmdir(passwd), 0);

	put(passwd, "alice:x:1000:100::/:\n");
	assert_int_equal(mkdir(group, 0700), 0);
	assert_int_equal(find(&a, "alice"), -1);
	assert_int_equal(rmdir(group), 0);
}

static void homes(void **unused)
{
	char *home;

	(void)unused;
	put(passwd, "root:x:0:0:root:/root:/bin/sh\nshort:x:7:7\nempty:x:8:8:::\n"
		    "last:x:2000:2001::/home/last");
	home = account_home(0, passwd);
	assert_string_equal(home, "/root");
	free(home);
	home = account_home(2000, passwd);
	assert_string_equal(home, "/home/last");
	free(home);
	home = account_home(8, passwd);
	assert_string_equal(home, "");
	free(home);
	assert_null(account_home(7, passwd));
	assert_null(account_home(9, passwd));
	assert_null(account_home(0, "/nonexistent"));
}

/* Somebody else, or a user with fewer groups, would be a surprise. */
static void without_memory_there_is_nobody(void **unused)
{
	struct account a;

	(void)unused;
	put(passwd, "root:x:0:0::/:\nalice:x:1000:100::/:\n");
	put(group, "a:x:1:alice\nb:x:2:bob\nc:x:3:alice\n");
	for (unsigned n = 0; n <= 5; n++) {
		lines_left = n;
		assert_int_equal(find(&a, "alice"), -1);
	}
	lines_left = 6; /* two, three, and the end */
	assert_int_equal(find(&a, "alice"), 0);
	assert_int_equal(a.n_groups, 3);
	for (unsigned n = 0; n <= 2; n++) {
		lines_left = n;
		assert_int_equal(find(&a, "4242"), -1);
	}
	lines_left = UINT_MAX;
	assert_int_equal(find(&a, "4242"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_are_found_by_name_and_number),
		cmocka_unit_test(nobody_else_is_found),
		cmocka_unit_test(groups_are_those_of_the_user),
		cmocka_unit_test(more_groups_than_fit),
		cmocka_unit_test(an_empty_root_has_numbers),
		cmocka_unit_test(what_cannot_be_read),
		cmocka_unit_test(homes),
		cmocka_unit_test(without_memory_there_is_nobody),
	};
	int failed;

	if (!mkdtemp(directory))
		return 1;
	snprintf(passwd, sizeof(passwd), "%s/passwd", directory);
	snprintf(group, sizeof(group), "%s/group", directory);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(passwd);
	unlink(group);
	rmdir(directory);
	return failed;
}
