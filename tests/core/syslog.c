#include "core/syslog.h"

#include "tests/unit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

static char directory[] = "/tmp/syslog-test-XXXXXX";
static char path[64];

static int listen_there(void)
{
	struct sockaddr_un here = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	snprintf(here.sun_path, sizeof(here.sun_path), "%s", path);
	unlink(path);
	assert_int_equal(bind(fd, (struct sockaddr *)&here, sizeof(here)), 0);
	return fd;
}

static void expect(int fd, int priority, const char *text)
{
	char message[2048], tail[128];
	int got, used = 0;
	ssize_t n = recv(fd, message, sizeof(message) - 1, 0);

	assert_true(n > 0);
	message[n] = 0;
	/* <30>Jan  1 00:00:00 ss-local[123]: text */
	assert_int_equal(sscanf(message, "<%d>%*3s %*d %*2d:%*2d:%*2d %n", &got, &used), 1);
	assert_true(used > 0);
	assert_int_equal(got, LOG_DAEMON | priority);
	snprintf(tail, sizeof(tail), "ss-local[%ld]: %s", (long)getpid(), text);
	assert_string_equal(message + used, tail);
}

static void lines_arrive(void **unused)
{
	int fd = listen_there();

	(void)unused;
	syslog_open(path, "ss-local");
	assert_true(syslog_write(LOG_INFO, "one"));
	assert_true(syslog_write(LOG_ERR, "two %n"));
	expect(fd, LOG_INFO, "one");
	expect(fd, LOG_ERR, "two %n");
	syslog_close();
	close(fd);
}

static void a_restarted_daemon_is_found_again(void **unused)
{
	int fd = listen_there();

	(void)unused;
	syslog_open(path, "ss-local");
	assert_true(syslog_write(LOG_INFO, "one"));
	close(fd);
	assert_false(syslog_write(LOG_INFO, "lost"));
	fd = listen_there();
	assert_true(syslog_write(LOG_INFO, "three"));
	expect(fd, LOG_INFO, "three");
	close(fd);
	fd = listen_there();
	assert_true(syslog_write(LOG_INFO, "four")); /* while connected to the old one */
	expect(fd, LOG_INFO, "four");
	syslog_close();
	close(fd);
}

static void a_daemon_that_comes_late_is_found(void **unused)
{
	int fd;

	(void)unused;
	unlink(path);
	syslog_open(path, "ss-local");
	assert_false(syslog_write(LOG_INFO, "lost"));
	fd = listen_there();
	assert_true(syslog_write(LOG_INFO, "here"));
	expect(fd, LOG_INFO, "here");
	syslog_close();
	close(fd);
}

/* A daemon that does not read must not stop us: this would hang with a blocking socket. */
static void a_stuck_daemon_stops_nobody(void **unused)
{
	int fd = listen_there(), taken = 0;

	(void)unused;
	syslog_open(path, "ss-local");
	while (taken < 100000 && syslog_write(LOG_INFO, "more"))
		taken++;
	assert_in_range(taken, 1, 99999);
	expect(fd, LOG_INFO, "more");
	assert_true(syslog_write(LOG_INFO, "more"));
	syslog_close();
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_arrive),
		cmocka_unit_test(a_restarted_daemon_is_found_again),
		cmocka_unit_test(a_daemon_that_comes_late_is_found),
		cmocka_unit_test(a_stuck_daemon_stops_nobody),
	};
	int failed;

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/log", directory);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(directory);
	return failed;
}
