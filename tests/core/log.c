/*
 * Each test runs its lines in a child whose standard streams are files or pipes, and looks at what
 * they hold.
 */
#include "core/log.h"

#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT = 1 << 20 };

static char out[TEXT], err[TEXT];

static void slurp(FILE *file, char *to)
{
	rewind(file);
	to[fread(to, 1, TEXT - 1, file)] = 0;
	fclose(file);
}

/* Run body with stdout and stderr going to out and err; its exit status. */
static int capture(void (*body)(void))
{
	FILE *files[2] = { tmpfile(), tmpfile() };
	int status;
	pid_t pid;

	assert_non_null(files[0]);
	assert_non_null(files[1]);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fileno(files[0]), STDOUT_FILENO);
		dup2(fileno(files[1]), STDERR_FILENO);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	slurp(files[0], out);
	slurp(files[1], err);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	while ((text = strstr(text, what))) {
		n++;
		text += strlen(what);
	}
	return n;
}

static void assert_matches(const char *text, const char *pattern)
{
	regex_t regex;

	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	if (regexec(&regex, text, 0, NULL, 0) != 0)
		fail_msg("'%s' does not match %s", text, pattern);
	regfree(&regex);
}

#define STAMP " [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} "

static void four_levels(void)
{
	log_open("test", false, true);
	log_error("one %d", 1);
	log_warn("two");
	log_info("three");
	log_debug("four");
}

static void lines_go_where_they_went_before(void **unused)
{
	(void)unused;
	assert_int_equal(capture(four_levels), 0);
	assert_matches(err, "^" STAMP "ERROR: one 1\n" STAMP "WARNING: two\n$");
	assert_matches(out, "^" STAMP "INFO: three\n" STAMP "DEBUG: four\n$");
}

static void quiet(void)
{
	log_open("test", false, false);
	log_debug("four");
	if (!log_verbose())
		log_info("quiet");
}

static void debug_lines_need_verbose(void **unused)
{
	(void)unused;
	capture(quiet);
	assert_matches(out, "^" STAMP "INFO: quiet\n$");
}

static void forge(void)
{
	char big[5000];

	log_open("test", false, false);
	log_info("a\nb\r\033[2J\x7f \t|%s", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	log_info("%s", "\xff|\xc3|\xc0\xaf|\xed\xa0\x80|\xc2\x9b|\xe2\x82|\xf4\x90\x80\x80");
	log_handshake("192.0.2.1", "x\ny");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	log_info("%s", big);
}

static void peers_cannot_forge_lines(void **unused)
{
	(void)unused;
	capture(forge);
	assert_non_null(strstr(out, "a?b??[2J? ?|\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n"));
	assert_non_null(strstr(out, "?|?|??|???|??|??|????\n"));
	assert_non_null(strstr(err, "failed to handshake with 192.0.2.1: x?y\n"));
	assert_int_equal(count(out, "\n"), 3);
	assert_non_null(strstr(out, "xx...\n"));
	assert_true(strlen(strstr(out, "xxx")) <= 1024);
}

static void repeat(void)
{
	log_open("test", false, false);
	log_flush(1000);
	for (int i = 0; i < 50; i++)
		log_error("again");
	log_error("other");
	for (int i = 0; i < 6; i++)
		log_error("third");
	log_flush(5000);
	log_info("quiet %d", log_verbose()); /* tells the five */
	log_error("late");
	log_error("late");
	log_flush(15001);
	log_error("late");
	log_flush(16000);
	log_flush(25002);
	log_flush(35003);
	log_error("late");
	log_error("late");
	log_close();
	log_info("state");
	log_info("state");
}

static void repeats_are_folded(void **unused)
{
	(void)unused;
	capture(repeat);
	assert_matches(err, "^" STAMP "ERROR: again\n" STAMP
			    "ERROR: last message repeated 49 times\n" STAMP "ERROR: other\n" STAMP
			    "ERROR: third\n" STAMP "ERROR: last message repeated 5 times\n" STAMP
			    "ERROR: late\n" STAMP "ERROR: last message repeated 1 times\n" STAMP
			    "ERROR: last message repeated 1 times\n" STAMP "ERROR: late\n" STAMP
			    "ERROR: last message repeated 1 times\n$");
	assert_int_equal(count(out, "INFO: state\n"), 2);
	assert_int_equal(count(out, "\n"), 3);
}

/* SE07: 3,000 bad inputs in a few seconds, half of them handshakes. */
static void flood(void)
{
	log_open("test", false, false);
	for (int i = 0; i < 1500; i++) {
		log_flush(100000 + (unsigned)i * 3);
		log_handshake("127.0.0.1", "authentication error");
		log_peer(3, "bad packet %d", i);
	}
	log_flush(100000 + 61000);
	log_flush(100000 + 120000);
}

static void a_flood_is_rationed_and_counted(void **unused)
{
	(void)unused;
	capture(flood);
	assert_int_equal(count(err, "failed to handshake with 127.0.0.1: authentication error\n"),
			 10);
	assert_int_equal(count(err, "WARNING: bad packet "), 10);
	assert_int_equal(count(err, "1490 more in the last minute like: bad packet 10\n"), 1);
	assert_int_equal(count(err, "1490 more handshakes in the last minute failed, from 1 addr"),
			 1);
	assert_int_equal(count(err, "\n"), 22);
}

static void many_addresses(void)
{
	char ip[32];

	log_open("test", false, false);
	for (unsigned i = 0; i < 60000; i++) {
		log_flush(1000000 + i);
		snprintf(ip, sizeof(ip), "10.%u.%u.1", i / 256, i % 256);
		log_handshake(ip, "authentication error");
	}
	log_close();
}

static void all_peers_together_have_a_cap(void **unused)
{
	(void)unused;
	capture(many_addresses);
	assert_int_equal(count(err, "failed to handshake with "), 300);
	assert_int_equal(count(err, "59700 more handshakes in the last minute failed, from 59700"),
			 1);
	assert_int_equal(count(err, "\n"), 301);
}

static void handshakes_of_two(void)
{
	log_open("test", false, false);
	for (unsigned minute = 1; minute < 4; minute++) {
		for (unsigned i = 0; i < 20; i++) {
			log_flush(60000ull * minute + 2000 * i);
			log_handshake("192.0.2.1", "authentication error");
			log_handshake("2001:db8::1", "authentication error");
		}
	}
}

static void an_address_has_ten_lines_a_minute(void **unused)
{
	(void)unused;
	capture(handshakes_of_two);
	assert_int_equal(count(err, "failed to handshake with 192.0.2.1: auth"), 30);
	assert_int_equal(count(err, "failed to handshake with 2001:db8::1: auth"), 30);
	assert_int_equal(count(err, "repeated"), 0);
	assert_int_equal(count(err, "20 more handshakes in the last minute failed, from 2 addr"),
			 2);
}

static void die_of_it(void)
{
	log_open("test", false, false);
	log_error("same");
	log_error("same");
	die("acl: %s:%d: no such rule", "x", 3);
}

static void die_says_why_and_exits_255(void **unused)
{
	(void)unused;
	assert_int_equal(capture(die_of_it), 255);
	assert_matches(err, "^" STAMP "ERROR: same\n" STAMP
			    "ERROR: last message repeated 1 times\n" STAMP
			    "ERROR: acl: x:3: no such rule\n$");
	assert_string_equal(out, "");
}

static void keep_errno(void)
{
	log_open("test", false, false);
	close(STDOUT_FILENO);
	errno = ENOTTY;
	log_info("x");
	log_debug("x");
	log_peer(1, "x");
	log_handshake("x", "y");
	log_flush(3);
	if (errno != ENOTTY)
		_exit(1);
}

static void errno_is_kept(void **unused)
{
	(void)unused;
	assert_int_equal(capture(keep_errno), 0);
}

/* A pipe that is full and that nobody reads; alarm() ends the test if a line waits for it. */
static void a_stopped_reader_stops_nobody(void **unused)
{
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	(void)unused;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(300);
		dup2(ends[1], STDOUT_FILENO);
		log_open("test", false, false);
		for (int i = 0; i < 20000; i++)
			log_info("line %d of many", i);
		n = read(ends[0], err, 20000);
		log_info("last but one");
		log_info("last");
		_exit(n > 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(ends[1]);
	for (size_t have = 0; (n = read(ends[0], out + have, TEXT - 1 - have)) > 0;) {
		have += (size_t)n;
		out[have] = 0;
	}
	close(ends[0]);
	assert_int_equal(count(out, " lines could not be written\n"), 1);
	assert_matches(out,
		       "could not be written\n" STAMP "INFO: last but one\n" STAMP "INFO: last\n$");
}

static void nobody_reads(void)
{
	int ends[2];

	if (pipe(ends) != 0)
		_exit(1);
	signal(SIGPIPE, SIG_DFL);
	dup2(ends[1], STDOUT_FILENO);
	close(ends[0]);
	log_open("test", false, false);
	log_info("into the void");
	close(STDOUT_FILENO);
	log_info("no stream");
}

static void a_closed_reader_ends_nobody(void **unused)
{
	(void)unused;
	assert_int_equal(capture(nobody_reads), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_go_where_they_went_before),
		cmocka_unit_test(debug_lines_need_verbose),
		cmocka_unit_test(peers_cannot_forge_lines),
		cmocka_unit_test(repeats_are_folded),
		cmocka_unit_test(a_flood_is_rationed_and_counted),
		cmocka_unit_test(all_peers_together_have_a_cap),
		cmocka_unit_test(an_address_has_ten_lines_a_minute),
		cmocka_unit_test(die_says_why_and_exits_255),
		cmocka_unit_test(errno_is_kept),
		cmocka_unit_test(a_stopped_reader_stops_nobody),
		cmocka_unit_test(a_closed_reader_ends_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
