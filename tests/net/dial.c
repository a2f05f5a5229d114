/*
 * Addresses in turn: refused ones, silent ones, and too few descriptors. The addresses are 127.0.0.1,
 * .2, ... with one port; a silent one is a listener whose queue is full.
 */
#include "net/dial.h"

#include "tests/emulator.h"
#include "tests/net/world.h"

#include <sys/resource.h>

enum { HOSTS = 6 };

enum host { REFUSES, SILENT, ANSWERS };

static struct dialler {
	struct dial dial;
	struct source far;
	enum step step;
	unsigned changes;
	int listeners[HOSTS], fillers[HOSTS][4];
	unsigned hosts;
	uint16_t port;
	char file[32];
} d;

static const struct socket_options options = { .no_delay = true, .dscp = -1 };

static void far_woken(struct source *source);

static void changed(struct dial *dial)
{
	d.changes++;
	if (d.step == WAIT)
		d.step = dial_run(dial, &d.far, far_woken);
}

static void far_woken(struct source *source)
{
	(void)source;
	changed(&d.dial);
}

static int listen_at(unsigned host, int backlog)
{
	struct sockaddr_in at = loopback(d.port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + host);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

/* Connections that are never accepted, until the listener answers no more. */
static void fill_queue(unsigned host)
{
	struct sockaddr_in at = loopback(d.port);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + host);
	for (int i = 0; i < 4; i++) {
		d.fillers[host][i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)!connect(d.fillers[host][i], (struct sockaddr *)&at, sizeof(at));
	}
}

/* A name with these addresses, in this order. */
static void stage_hosts(const enum host *hosts, unsigned n)
{
	char path[] = "/tmp/ss-dial-XXXXXX";
	int fd = mkstemp(path);

	signal(SIGPIPE, SIG_IGN);
	world = (struct world){ .now = 1000000, .descriptors = count_open() - 1 };
	d = (struct dialler){ .far.fd = -1, .step = WAIT, .hosts = n };
	snprintf(d.file, sizeof(d.file), "%s", path);
	close(listen_small(&d.port, 0));
	for (unsigned i = 0; i < n; i++) {
		d.listeners[i] =
			hosts[i] == REFUSES ? -1 : listen_at(i, hosts[i] == SILENT ? 0 : 8);
		if (hosts[i] == SILENT)
			fill_queue(i);
		dprintf(fd, "127.0.0.%u many.test\n", i + 1);
	}
	close(fd);

	struct resolve_options names = { .servers = "127.0.0.1:9", .hosts = d.file };

	reactor_clock(world_clock);
	assert_int_equal(reactor_open(), 0);
	assert_int_equal(resolve_open(&names), 0);
}

static void start(void)
{
	static struct endpoint to = { .type = ENDPOINT_NAME, .len = 9, .host = "many.test" };

	to.port = d.port;
	dial_start(&d.dial, &to, &options, 0, false, changed);
}

static void dial_them(void)
{
	start();
	d.step = dial_run(&d.dial, &d.far, far_woken);
	turns(5);
}

static void strike(void)
{
	dial_end(&d.dial);
	dial_end(&d.dial); /* once more does no harm */
	reactor_forget(&d.far);
	for (unsigned i = 0; i < d.hosts; i++) {
		if (d.listeners[i] >= 0)
			close(d.listeners[i]);
		for (int k = 0; k < 4; k++)
			if (d.fillers[i][k] > 0)
				close(d.fillers[i][k]);
	}
	turns(2);
	resolve_close();
	reactor_close();
	reactor_clock(NULL);
	unlink(d.file);
	assert_int_equal(count_open(), world.descriptors);
}

/* Which host the connection went to. */
static unsigned went_to(void)
{
	struct sockaddr_in at = { 0 };
	socklen_t len = sizeof(at);

	assert_int_equal(d.step, DONE);
	assert_int_equal(getpeername(d.far.fd, (struct sockaddr *)&at, &len), 0);
	return ntohl(at.sin_addr.s_addr) - INADDR_LOOPBACK;
}

static void test_refused_are_passed_over(void **state)
{
	(void)state;
	stage_hosts((const enum host[]){ REFUSES, REFUSES, REFUSES, REFUSES, ANSWERS }, 5);
	dial_them();
	assert_int_equal(went_to(), 4); /* no time passed */
	strike();
}

static void test_all_refuse(void **state)
{
	needs("socket-errors");
	(void)state;
	stage_hosts((const enum host[]){ REFUSES, REFUSES, REFUSES, REFUSES }, 4);
	dial_them();
	assert_int_equal(d.step, FAIL);
	assert_int_equal(d.dial.error, ECONNREFUSED);
	assert_false(dial_is_short(&d.dial));
	strike();
}

static void test_silent_one_is_overtaken(void **state)
{
	(void)state;
	stage_hosts((const enum host[]){ SILENT, ANSWERS }, 2);
	dial_them();
	assert_int_equal(d.step, WAIT);
	world.now += DIAL_STAGGER - 1;
	turns(3);
	assert_int_equal(d.step, WAIT);
	pass(2);
	assert_int_equal(went_to(), 1);
	strike();
}

/* More silent ones than are tried at a time: the oldest make room. */
static void test_many_silent_ones(void **state)
{
	(void)state;
	stage_hosts((const enum host[]){ SILENT, SILENT, SILENT, SILENT, SILENT, ANSWERS }, 6);
	dial_them();
	pass(DIAL_STAGGER + 1);
	pass(DIAL_STAGGER + 1);
	pass(DIAL_STAGGER + 1);
	assert_int_equal(d.dial.next, 3);
	pass(DIAL_PATIENCE);
	assert_int_equal(d.dial.next, 4);
	pass(DIAL_PATIENCE + 1);
	assert_int_equal(d.step, WAIT);
	pass(DIAL_PATIENCE + 1);
	assert_int_equal(went_to(), 5);
	strike();
}

/* One of the silent ones answers after all. */
static void test_late_answer(void **state)
{
	(void)state;
	stage_hosts((const enum host[]){ SILENT, SILENT }, 2);
	dial_them();
	pass(DIAL_STAGGER + 1);
	assert_int_equal(d.step, WAIT);
	for (int fd; (fd = accept(d.listeners[0], NULL, NULL)) >= 0;)
		close(fd);
	until(d.step != WAIT); /* the kernel tries again after a second */
	assert_int_equal(went_to(), 0);
	strike();
}

static void test_no_descriptor(void **state)
{
	struct rlimit limit;
	int next;

	(void)state;
	stage_hosts((const enum host[]){ REFUSES, ANSWERS }, 2);
	start(); /* reads the hosts file */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	rlim_t old = limit.rlim_cur;
	next = dup(0);
	close(next);
	limit.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	d.step = dial_run(&d.dial, &d.far, far_woken);
	limit.rlim_cur = old;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(d.step, FAIL);
	assert_true(dial_is_short(&d.dial));
	d.step = dial_run(&d.dial, &d.far, far_woken); /* no address was used up */
	turns(3);
	assert_int_equal(went_to(), 1);
	strike();
}

/* Ended while attempts are under way and queued: nothing comes afterwards. */
static void test_end_under_way(void **state)
{
	(void)state;
	stage_hosts((const enum host[]){ SILENT, SILENT, ANSWERS }, 3);
	dial_them();
	pass(DIAL_STAGGER + 1);
	world.now += DIAL_STAGGER + 1;
	turn();
	unsigned before = d.changes;
	dial_end(&d.dial);
	pass(60000);
	assert_int_equal(d.changes, before);
	strike();
}

static void test_unknown_name(void **state)
{
	static struct endpoint to = {
		.type = ENDPOINT_NAME, .len = 13, .host = "127.0.0.1.bad", .port = 1
	};

	(void)state;
	stage_hosts((const enum host[]){ REFUSES }, 1);
	dial_start(&d.dial, &to, &options, 0, false, changed);
	d.step = dial_run(&d.dial, &d.far, far_woken);
	for (int i = 0; i < 30 && d.step == WAIT; i++)
		pass(1000);
	assert_int_equal(d.step, FAIL);
	assert_true(d.dial.error == EHOSTUNREACH || d.dial.error == EAGAIN);
	strike();
}

/* With one address there is nothing to choose from. */
static void dial_one(enum host host)
{
	static struct endpoint to = { .type = ENDPOINT_IPV4, .len = 4, .host = { 127, 0, 0, 1 } };

	stage_hosts(&host, 1);
	to.port = d.port;
	dial_start(&d.dial, &to, &options, 0, false, changed);
	d.step = dial_run(&d.dial, &d.far, far_woken);
}

static void test_only_one(void **state)
{
	needs("socket-errors");
	(void)state;
	dial_one(ANSWERS);
	until(d.step != WAIT);
	assert_int_equal(went_to(), 0);
	dial_end(&d.dial);
	assert_true(d.far.fd >= 0); /* it is not the dial's any more */
	assert_true(d.far.ready & READY_OUT);
	strike();

	dial_one(REFUSES);
	until(d.step != WAIT);
	assert_int_equal(d.step, FAIL);
	assert_int_equal(d.dial.error, ECONNREFUSED);
	assert_int_equal(d.far.fd, -1);
	strike();

	dial_one(SILENT);
	pass(60000);
	assert_int_equal(d.step, WAIT);
	dial_end(&d.dial);
	assert_int_equal(d.far.fd, -1);
	strike();
}

/* 0.0.0.0 is this host as 127.0.0.1 is, not the address that is sent from, which rules may forbid. */
static void test_nowhere_is_not_the_source(void **state)
{
	needs("socket-errors");
	static struct endpoint to = { .type = ENDPOINT_IPV4, .len = 4 };
	struct socket_options from = options;

	(void)state;
	stage_hosts((const enum host[]){ REFUSES, ANSWERS }, 2);
	from.source4 = (struct address){ .family = 4, .ip = { 127, 0, 0, 2 } };
	to.port = d.port;
	dial_start(&d.dial, &to, &from, 0, false, changed);
	d.step = dial_run(&d.dial, &d.far, far_woken);
	turns(5);
	assert_int_equal(d.step, FAIL);
	assert_int_equal(d.dial.error, ECONNREFUSED);
	strike();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_are_passed_over),
		cmocka_unit_test(test_all_refuse),
		cmocka_unit_test(test_silent_one_is_overtaken),
		cmocka_unit_test(test_many_silent_ones),
		cmocka_unit_test(test_late_answer),
		cmocka_unit_test(test_no_descriptor),
		cmocka_unit_test(test_end_under_way),
		cmocka_unit_test(test_unknown_name),
		cmocka_unit_test(test_only_one),
		cmocka_unit_test(test_nowhere_is_not_the_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
