/*
 * Names through the whole resolver, against a DNS server of the test's own (dns_stub.h): every
 * kind of answer and of silence, the cache, the queue, owners that leave; and that no look-up
 * touches the heap.
 */
#include "net/resolve.h"

#include "tests/net/dns_stub.h"
#include "tests/unit.h"

#include <sys/resource.h>
#include <time.h>

/* Every allocation of the process is counted, by whatever library. */
static volatile unsigned long allocations; /* the compiler believes malloc() changes nothing */

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED
int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t),
					      void (*)(const volatile void *));

static void on_malloc(const volatile void *at, size_t n)
{
	(void)at;
	(void)n;
	allocations++;
}

static void on_free(const volatile void *at)
{
	(void)at;
}

static bool count_allocations(void)
{
	return __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0;
}
#elif defined(__GLIBC__)
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *at, size_t n);

void *malloc(size_t n)
{
	allocations++;
	return __libc_malloc(n);
}

void *calloc(size_t count, size_t n)
{
	allocations++;
	return __libc_calloc(count, n);
}

void *realloc(void *at, size_t n)
{
	allocations++;
	return __libc_realloc(at, n);
}

static bool count_allocations(void)
{
	return true;
}
#else
static bool count_allocations(void)
{
	return false;
}
#endif

enum {
	MANY = 1000,
	TIMEOUT = 700,	 /* where nobody answers */
	PATIENCE = 30000 /* where somebody does: the machine may be slow */
};

struct asked {
	struct lookup lookup;
	unsigned done;
};

static struct asked many[MANY];
static char hosts_path[64], conf_path[64];

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void on_done(struct lookup *lookup)
{
	container_of(lookup, struct asked, lookup)->done++;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void open_resolver(struct resolve_options options)
{
	char servers[32];

	snprintf(servers, sizeof(servers), "127.0.0.1:%u", stub.port);
	if (options.servers == NULL && options.resolv_conf == NULL)
		options.servers = servers;
	options.hosts = hosts_path;
	if (options.timeout_ms == 0)
		options.timeout_ms = PATIENCE;
	assert_int_equal(resolve_open(&options), 0);
}

static int setup(void **state)
{
	(void)state;
	put(hosts_path, "");
	if (reactor_open() < 0)
		return -1;
	stub_open();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	resolve_close();
	stub_close();
	reactor_close();
	return 0;
}

static enum resolve_status wait_for(struct asked *a)
{
	for (uint64_t end = now_ms() + 2 * PATIENCE; a->lookup.status == RESOLVE_PENDING;) {
		assert_true(now_ms() < end);
		reactor_turn(50);
	}
	return a->lookup.status;
}

static void turn_for(unsigned ms)
{
	for (uint64_t end = now_ms() + ms; now_ms() < end;)
		reactor_turn((int)(end - now_ms()));
}

/* Turn until it holds. */
#define turn_until(condition)                                                                     \
	do {                                                                                      \
		for (uint64_t until = now_ms() + 2 * PATIENCE; !(condition) && now_ms() < until;) \
			reactor_turn(50);                                                         \
		assert_true(condition);                                                           \
	} while (0)

static const char *list_of(const struct lookup *lookup)
{
	static char text[RESOLVE_ADDRESSES * 50];
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; lookup->answer != NULL && i < lookup->answer->count; i++) {
		struct sockaddr_storage at;
		char one[ENDPOINT_TEXT];
		address_socket(&lookup->answer->addresses[i], 0, &at);
		socket_print((struct sockaddr *)&at, false, one, sizeof(one));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 0 ? " " : "", one);
	}
	return text;
}

/* Ask, wait, compare, release. */
static void check(const char *name, enum resolve_status status, const char *addresses)
{
	struct asked a = { 0 };
	bool pending = resolve_start(&a.lookup, name, on_done) == RESOLVE_PENDING;

	assert_int_equal(wait_for(&a), status);
	assert_int_equal(a.done, pending);
	assert_string_equal(list_of(&a.lookup), addresses);
	resolve_release(&a.lookup);
	resolve_release(&a.lookup);
}

/* As check(), of what must be known without a question. */
static void check_known(const char *name, enum resolve_status status, const char *addresses)
{
	struct asked a = { 0 };
	unsigned before = stub.questions;

	assert_int_equal(resolve_start(&a.lookup, name, on_done), status);
	assert_string_equal(list_of(&a.lookup), addresses);
	resolve_release(&a.lookup);
	assert_int_equal(stub.questions, before);
}

static void literals(void **state)
{
	(void)state;
	open_resolver((struct resolve_options){ 0 });
	check_known("192.0.2.1", RESOLVE_OK, "192.0.2.1");
	check_known("192.0.2.1.", RESOLVE_OK, "192.0.2.1");
	check_known("::1", RESOLVE_OK, "::1");
	check_known("[2001:DB8::1]", RESOLVE_OK, "2001:db8::1");
	check_known("::ffff:10.0.0.1", RESOLVE_OK, "10.0.0.1");
	check_known("127.1", RESOLVE_NOT_FOUND, "");
	check_known("0x7f.1", RESOLVE_NOT_FOUND, "");
	check_known("2130706433", RESOLVE_NOT_FOUND, "");
	check_known("", RESOLVE_NOT_FOUND, "");
	check_known(".", RESOLVE_NOT_FOUND, "");
	check_known("a..b", RESOLVE_NOT_FOUND, "");
	check_known("a b", RESOLVE_NOT_FOUND, "");
	char name[400];
	memset(name, 'a', sizeof(name));
	name[399] = '\0';
	check_known(name, RESOLVE_NOT_FOUND, "");
	name[64] = '\0';
	check_known(name, RESOLVE_NOT_FOUND, "");
}

static void localhost(void **state)
{
	(void)state;
	open_resolver((struct resolve_options){ 0 });
	check_known("localhost", RESOLVE_OK, "127.0.0.1 ::1");
	check_known("LocalHost.", RESOLVE_OK, "127.0.0.1 ::1");
	check_known("x.y.localhost", RESOLVE_OK, "127.0.0.1 ::1");
	check("notlocalhost.test", RESOLVE_OK, "192.0.2.1");
	resolve_close();
	open_resolver((struct resolve_options){ .ipv6_first = true });
	check_known("localhost", RESOLVE_OK, "::1 127.0.0.1");
}

static void families(void **state)
{
	(void)state;
	open_resolver((struct resolve_options){ 0 });
	check("both.test", RESOLVE_OK, "192.0.2.1 2001:db8::1");
	check("a4.test", RESOLVE_OK, "192.0.2.1");
	check("a6.test", RESOLVE_OK, "2001:db8::6");
	check("alias.test", RESOLVE_OK, "192.0.2.9 2001:db8::9");
	check("BOTH.Test.", RESOLVE_OK, "192.0.2.1 2001:db8::1");
	assert_int_equal(stub.questions, 8);
	resolve_close();
	open_resolver((struct resolve_options){ .ipv6_first = true });
	check("both.test", RESOLVE_OK, "2001:db8::1 192.0.2.1");
	check("a4.test", RESOLVE_OK, "192.0.2.1"); /* DN05 */
	check("mapped.test", RESOLVE_OK, "127.0.0.1");
}

static void negative(void **state)
{
	(void)state;
	open_resolver((struct resolve_options){ 0 });
	check("nx.test", RESOLVE_NOT_FOUND, "");
	check("nodata.test", RESOLVE_NOT_FOUND, "");
	assert_int_equal(stub.questions, 4);
	check_known("nx.test", RESOLVE_NOT_FOUND, "");
	check_known("nodata.test", RESOLVE_NOT_FOUND, "");
	check("brokenaaaa.test", RESOLVE_OK, "192.0.2.1");
}

static void failures_are_not_kept(void **state)
{
	(void)state;
	static const char *const names[] = { "servfail.test", "refused.test", "formerr.test",
					     "notimp.test" };
	open_resolver((struct resolve_options){ 0 });
	for (unsigned i = 0; i < 4; i++) {
		check(names[i], RESOLVE_FAILED, "");
		unsigned before = stub.questions;
		check(names[i], RESOLVE_FAILED, "");
		assert_true(stub.questions > before);
	}
	assert_int_equal(resolve_pending(), 0);
}

/* It takes no longer than so many ms: once in a few times, for the machine may be slow. */
static void check_within(uint64_t ms, const char *format, enum resolve_status status,
			 const char *addresses)
{
	uint64_t start, took = ms + 1;
	char name[32];

	for (unsigned i = 0; i < 20 && took > ms; i++) {
		snprintf(name, sizeof(name), format, i);
		start = now_ms();
		check(name, status, addresses);
		took = now_ms() - start;
	}
	assert_true(took <= ms);
}

static void silence(void **state)
{
	(void)state;
	open_resolver((struct resolve_options){ .timeout_ms = TIMEOUT });
	check_within(TIMEOUT + 200, "drop.n%u.test", RESOLVE_FAILED, "");
	assert_true(stub.questions >= 4); /* asked again */
	resolve_close();
	open_resolver((struct resolve_options){ 0 });
	check_within(600, "half.n%u.test", RESOLVE_OK, "192.0.2.1");
}

/* DN03: twenty names that nobody answers cost next to no processor time. */
static void silence_is_idle(void **state)
{
	(void)state;
	struct timespec before, after;
	char name[32];

	open_resolver((struct resolve_options){ .timeout_ms = 2000 });
	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "drop.n%u.test", i);
		assert_int_equal(resolve_start(&many[i].lookup, name, on_done), RESOLVE_PENDING);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	unsigned turns = 0;
	for (uint64_t end = now_ms() + 1000; now_ms() < end; turns++)
		reactor_turn(1000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	long ns = (after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec;
	assert_true(ns < 200000000);
	assert_true(turns < 200);
	for (unsigned i = 0; i < 20; i++)
		resolve_release(&many[i].lookup);
}

static void no_server_there(void **state)
{
	(void)state;
	open_resolver((struct resolve_options){ .timeout_ms = TIMEOUT });
	reactor_forget(&stub.udp);
	check_within(TIMEOUT + 200, "n%u.test", RESOLVE_FAILED, "");
}

static void over_tcp(void **state) /* DN09 */
{
	(void)state;
	struct asked a = { 0 };

	open_resolver((struct resolve_options){ 0 });
	resolve_start(&a.lookup, "many60.test", on_done);
	assert_int_equal(wait_for(&a), RESOLVE_OK);
	assert_int_equal(stub.tcp_questions, 1);
	assert_int_equal(a.lookup.answer->count, RESOLVE_ADDRESSES);
	assert_int_equal(a.lookup.answer->addresses[31].ip[3], 32);
	resolve_release(&a.lookup);
}

static void malformed(void **state)
{
	(void)state;
	char name[16];

	open_resolver((struct resolve_options){ .timeout_ms = 2000 });
	memset(many, 0, sizeof(many));
	for (unsigned i = 1; i <= 9; i++) {
		snprintf(name, sizeof(name), "cut%u.test", i);
		resolve_start(&many[i].lookup, name, on_done);
	}
	resolve_start(&many[10].lookup, "garbage.test", on_done);
	resolve_start(&many[11].lookup, "wrongid.test", on_done);
	resolve_start(&many[12].lookup, "wrongname.test", on_done);
	for (unsigned i = 1; i <= 12; i++)
		assert_int_equal(wait_for(&many[i]), RESOLVE_FAILED);
	check_within(2000, "a4.n%u.test", RESOLVE_OK, "192.0.2.1");
}

static void lifetimes(void **state)
{
	(void)state;
	struct asked a = { 0 };
	uint64_t start;

	open_resolver((struct resolve_options){ 0 });
	do { /* until the machine is so fast that they still live */
		resolve_forget("short.test");
		resolve_forget("zero.test");
		resolve_forget("nxsoa.test");
		start = now_ms();
		stub.questions = 0;
		check("short.test", RESOLVE_OK, "192.0.2.1");
		check("zero.test", RESOLVE_OK, "192.0.2.1");
		check("nxsoa.test", RESOLVE_NOT_FOUND, "");
		assert_int_equal(stub.questions, 6);
	} while (now_ms() - start > 500);
	check_known("short.test", RESOLVE_OK, "192.0.2.1");
	check_known("zero.test", RESOLVE_OK, "192.0.2.1"); /* one second at least */
	check_known("nxsoa.test", RESOLVE_NOT_FOUND, "");
	assert_int_equal(resolve_start(&a.lookup, "short.test", on_done), RESOLVE_OK);
	turn_for(1100);
	check("short.test", RESOLVE_OK, "192.0.2.1");
	assert_int_equal(stub.questions, 8);
	assert_string_equal(list_of(&a.lookup), "192.0.2.1"); /* held since before */
	resolve_release(&a.lookup);
	check("nxsoa.test", RESOLVE_NOT_FOUND, "");
	assert_int_equal(stub.questions, 10);
	resolve_forget("Short.TEST.");
	check("short.test", RESOLVE_OK, "192.0.2.1");
	assert_int_equal(stub.questions, 12);
}

static void asked_once(void **state)
{
	(void)state;
	open_resolver((struct resolve_options){ 0 });
	memset(many, 0, sizeof(many));
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(resolve_start(&many[i].lookup, "slow.test", on_done),
				 RESOLVE_PENDING);
	assert_int_equal(resolve_pending(), 1);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(wait_for(&many[i]), RESOLVE_OK);
		assert_int_equal(many[i].done, 1);
	}
	assert_int_equal(stub.questions, 2); /* A and AAAA */
	for (unsigned i = 0; i < 100; i++)
		resolve_release(&many[i].lookup);
}

static void thousand_names(void **state)
{
	(void)state;
	char name[32];

	open_resolver((struct resolve_options){ 0 });
	memset(many, 0, sizeof(many));
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "n%u.test", i);
		assert_int_equal(resolve_start(&many[i].lookup, name, on_done), RESOLVE_PENDING);
	}
	assert_int_equal(resolve_pending(), MANY);
	reactor_turn(0);
	assert_true(stub.questions <= 2 * 256);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(wait_for(&many[i]), RESOLVE_OK);
	assert_int_equal(resolve_pending(), 0);
	for (unsigned i = 0; i < MANY; i++)
		resolve_release(&many[i].lookup);
	unsigned before = stub.questions; /* 512 of them are still known */
	for (unsigned i = MANY - 512; i < MANY; i++) {
		snprintf(name, sizeof(name), "n%u.test", i);
		check_known(name, RESOLVE_OK, "192.0.2.1");
	}
	check("n0.test", RESOLVE_OK, "192.0.2.1");
	assert_int_equal(stub.questions, before + 2);
}

/* The queue is left in time too, and names beyond the tables are refused at once. */
static void full_tables(void **state)
{
	(void)state;
	static struct asked flood[4200];
	unsigned refused = 0;
	char name[32];

	open_resolver((struct resolve_options){ .timeout_ms = 2000 });
	memset(flood, 0, sizeof(flood));
	for (unsigned i = 0; i < 4200; i++) {
		snprintf(name, sizeof(name), "drop.n%u.test", i);
		refused += resolve_start(&flood[i].lookup, name, on_done) == RESOLVE_FAILED;
	}
	assert_int_equal(refused, 4200 - 4096);
	uint64_t start = now_ms();
	for (unsigned i = 0; i < 4096; i++)
		assert_int_equal(wait_for(&flood[i]), RESOLVE_FAILED);
	assert_true(now_ms() - start < 4096 / 256 * 2000 / 2);
	assert_int_equal(resolve_pending(), 0);
	turn_for(500);
	check_within(2000, "a4.n%u.test", RESOLVE_OK, "192.0.2.1");
}

static enum resolve_status ask_as(struct asked *a, uint8_t share, const char *format, unsigned i)
{
	char name[32];

	snprintf(name, sizeof(name), format, i);
	a->lookup.share = share;
	return resolve_start(&a->lookup, name, on_done);
}

static void check_soon(uint8_t share, const char *name)
{
	struct asked a = { .lookup.share = share };
	uint64_t start = now_ms();

	assert_int_equal(resolve_start(&a.lookup, name, on_done), RESOLVE_PENDING);
	assert_int_equal(wait_for(&a), RESOLVE_OK);
	assert_true(now_ms() - start < PATIENCE / 2); /* none of the others has given up */
	resolve_release(&a.lookup);
}

/* However many names of a dead zone some peers ask for, others are answered; also for one of those names. */
static void shares(void **state)
{
	(void)state;
	unsigned refused = 0;
	struct asked late = { 0 };

	open_resolver((struct resolve_options){ 0 });
	memset(many, 0, sizeof(many));
	for (unsigned i = 0; i < 600; i++)
		refused += ask_as(&many[i], 1, "drop.n%u.test", i) == RESOLVE_FAILED;
	assert_int_equal(refused, 600 - 512);
	reactor_turn(0);
	check_soon(2, "a4.test");
	check_soon(0, "b.test");
	for (unsigned i = 600; i < MANY; i++) /* forty more such peers */
		ask_as(&many[i], (uint8_t)(10 + i % 40), "drop.n%u.test", i);
	turn_for(50);
	check_soon(3, "c.test");
	for (unsigned i = 0; i < 20; i++) { /* room for one more */
		resolve_release(&many[511 - i].lookup);
		memset(&many[511 - i], 0, sizeof(many[0]));
	}
	assert_int_equal(ask_as(&late, 1, "late%u.test", 1), RESOLVE_PENDING);
	turn_for(50);
	assert_int_equal(late.lookup.status, RESOLVE_PENDING); /* behind all the others */
	check_soon(4, "late1.test");
	assert_int_equal(late.lookup.status, RESOLVE_OK);
	resolve_release(&late.lookup);
	for (unsigned i = 0; i < MANY; i++)
		resolve_release(&many[i].lookup);
}

/* A zone that answers for one family only: the owner is told soon, but the slot is not free. */
static void shares_of_halves(void **state)
{
	(void)state;
	open_resolver((struct resolve_options){ 0 });
	memset(many, 0, sizeof(many));
	for (unsigned turn = 0; turn < 5; turn++) {
		for (unsigned i = turn * 200; i < turn * 200 + 200; i++)
			ask_as(&many[i], 1, "half.n%u.test", i);
		turn_for(350);
	}
	check_soon(2, "a4.test");
	for (unsigned i = 0; i < MANY; i++)
		resolve_release(&many[i].lookup);
}

static void share_of_a_peer(void **state)
{
	(void)state;
	struct address a, b;
	unsigned differ = 0;

	open_resolver((struct resolve_options){ 0 });
	for (unsigned char i = 0; i < 100; i++) {
		address_set(&a, 4, (unsigned char[]){ 192, 0, 2, i });
		address_set(&b, 6, (unsigned char[16]){ 0x20, 1, 0xd, 0xb8, i, 0, 0, 0, i });
		assert_int_not_equal(resolve_share(&a), 0);
		assert_int_equal(resolve_share(&a), resolve_share(&a));
		differ += resolve_share(&a) != resolve_share(&b);
		a = b;
		a.ip[15] = 1;
		assert_int_equal(resolve_share(&a), resolve_share(&b));
	}
	assert_true(differ > 80);
}

static void leave_early(void **state) /* TC15 */
{
	(void)state;
	char name[32];

	open_resolver((struct resolve_options){ .timeout_ms = TIMEOUT });
	memset(many, 0, sizeof(many));
	for (unsigned i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), i % 2 ? "slow.n%u.test" : "nx.n%u.test", i / 4);
		resolve_start(&many[i].lookup, name, on_done);
	}
	for (unsigned i = 0; i < 600; i++)
		if (i % 3 != 0) {
			resolve_release(&many[i].lookup);
			memset(&many[i], 0xee, sizeof(many[i])); /* the owner is gone */
		}
	turn_for(100);
	for (unsigned i = 0; i < 600; i += 6) {
		resolve_release(&many[i].lookup);
		memset(&many[i], 0xee, sizeof(many[i]));
	}
	for (unsigned i = 3; i < 600; i += 6) {
		wait_for(&many[i]);
		assert_int_equal(many[i].done, 1);
		resolve_release(&many[i].lookup);
	}
	turn_until(resolve_pending() == 0);
}

/* done() may start and release whatever it likes. */
static void start_again(struct lookup *lookup)
{
	struct asked *a = container_of(lookup, struct asked, lookup);
	static const char *const next[] = { "nx.b.test", "a4.test", "drop.test", "a6.test" };

	if (++a->done > 4)
		return;
	resolve_release(&many[50 + a->done].lookup);
	many[50 + a->done].done = 77;
	while (a->done <= 4 &&
	       resolve_start(lookup, next[a->done - 1], start_again) != RESOLVE_PENDING)
		a->done++;
}

static bool all_are_through(void)
{
	for (unsigned i = 0; i < 50; i++)
		if (many[i].done <= 4)
			return false;
	return true;
}

static void from_inside_done(void **state)
{
	(void)state;
	open_resolver((struct resolve_options){ .timeout_ms = TIMEOUT });
	memset(many, 0, sizeof(many));
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(resolve_start(&many[i].lookup, "both.test",
					       i < 50 ? start_again : on_done),
				 RESOLVE_PENDING);
	turn_until(all_are_through());
	for (unsigned i = 51; i <= 54; i++)
		assert_int_equal(many[i].done, 77);
	for (unsigned i = 55; i < 100; i++)
		assert_int_equal(many[i].done, 1);
	for (unsigned i = 0; i < 100; i++)
		resolve_release(&many[i].lookup);
	assert_int_equal(resolve_pending(), 0);
}

static void hosts_file(void **state) /* DN11 */
{
	(void)state;
	put(hosts_path, "# comment\r\n127.0.0.9 Only-Here.test  other # not.this\r\n"
			"\t::9\tonly-here.TEST.\n10.0.0.1 only-here.test\nbad line\n");
	open_resolver((struct resolve_options){ 0 });
	check_known("only-here.test", RESOLVE_OK, "127.0.0.9 ::9 10.0.0.1");
	check_known("ONLY-HERE.test.", RESOLVE_OK, "127.0.0.9 ::9 10.0.0.1");
	check_known("other", RESOLVE_OK, "127.0.0.9");
	check("not.this", RESOLVE_OK, "192.0.2.1");
	put(hosts_path, "127.0.0.10 only-here.test\n");
	turn_for(1050);
	check_known("only-here.test", RESOLVE_OK, "127.0.0.10");
	check("other.test", RESOLVE_OK, "192.0.2.1");
	unlink(hosts_path);
	turn_for(1050);
	check("only-here.test", RESOLVE_OK, "192.0.2.1");
}

/* What could not be read for want of a descriptor is read later, and the old names serve meanwhile. */
static void hosts_file_without_descriptors(void **state)
{
	struct rlimit had, none;

	(void)state;
	put(hosts_path, "127.0.0.9 here.test\n");
	open_resolver((struct resolve_options){ 0 });
	check_known("here.test", RESOLVE_OK, "127.0.0.9");
	put(hosts_path, "127.0.0.10 here.test\n");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &had), 0);
	none = (struct rlimit){ 0, had.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	turn_for(1050);
	check_known("here.test", RESOLVE_OK, "127.0.0.9");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &had), 0);
	turn_for(1050);
	check_known("here.test", RESOLVE_OK, "127.0.0.10");
}

static void conf(const char *format, unsigned port)
{
	char text[256];

	snprintf(text, sizeof(text), format, port);
	put(conf_path, text);
}

static void network_comes_up(void **state) /* DN07 */
{
	(void)state;
	struct asked a = { 0 };

	unlink(conf_path);
	open_resolver((struct resolve_options){ .resolv_conf = conf_path });
	check("a4.test", RESOLVE_FAILED, "");
	conf("# up\nnameserver [127.0.0.1]:1\nnameserver 127.0.0.1:%u\n", stub.port);
	turn_for(1050);
	check("a4.test", RESOLVE_OK, "192.0.2.1");

	/* a question that is out is asked at the new server */
	int deaf = stub_socket(SOCK_DGRAM, 0);
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	getsockname(deaf, (struct sockaddr *)&at, &len);
	conf("nameserver 127.0.0.1:%u\n", ntohs(at.sin_port));
	turn_for(1050);
	assert_int_equal(resolve_start(&a.lookup, "both.test", on_done), RESOLVE_PENDING);
	turn_for(100);
	conf("nameserver 127.0.0.1:%u\n", stub.port);
	assert_int_equal(wait_for(&a), RESOLVE_OK);
	assert_string_equal(list_of(&a.lookup), "192.0.2.1 2001:db8::1");
	resolve_release(&a.lookup);
	close(deaf);
	conf("", 0);
	turn_for(1050);
	check("a6.test", RESOLVE_FAILED, "");
}

static void search_list(void **state) /* DN05 */
{
	(void)state;
	conf("nameserver 127.0.0.1:%u\nsearch nx.test inner.test\n", stub.port);
	open_resolver((struct resolve_options){ .resolv_conf = conf_path });
	check("a4.test", RESOLVE_OK, "192.0.2.1");
	check("nx.test", RESOLVE_NOT_FOUND, "");
	assert_int_equal(stub.questions, 4); /* nothing behind a name with a dot */
	check("a6", RESOLVE_OK, "2001:db8::6");
	assert_int_equal(stub.questions, 6); /* as it is, first */
	check("nx", RESOLVE_NOT_FOUND, "");
	assert_string_equal(stub.last, "nx.inner.test");
	assert_int_equal(stub.questions, 12);
}

static void bad_servers(void **state)
{
	(void)state;
	static const char *const lists[] = { "start",	    "",		 ",",
					     "127.0.0.1:x", "localhost", "1.1.1.1,2.2.2.2:99999" };
	struct resolve_options options = { 0 };

	for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		options.servers = lists[i];
		assert_int_equal(resolve_open(&options), -1);
	}
	resolve_close();
}

static void opens_again(void **state)
{
	(void)state;
	struct asked a = { 0 };

	for (unsigned i = 0; i < 5; i++) {
		open_resolver((struct resolve_options){ 0 });
		assert_int_equal(resolve_start(&a.lookup, "slow.test", on_done), RESOLVE_PENDING);
		reactor_turn(10);
		resolve_release(&a.lookup);
		check("both.test", RESOLVE_OK, "192.0.2.1 2001:db8::1");
		resolve_close();
	}
}

static void no_heap(void **state)
{
	(void)state;
	char name[32];

	if (!count_allocations()) {
		print_message("skipped: allocations cannot be counted with this C library\n");
		skip();
	}
	open_resolver((struct resolve_options){ .timeout_ms = 5000 });
	check("both.test", RESOLVE_OK, "192.0.2.1 2001:db8::1"); /* warm */
	unsigned long before = allocations;
	void *volatile one = malloc(1);
	free(one);
	assert_true(allocations > before); /* they are counted */
	put(hosts_path, "127.0.0.1 new.test\n");
	turn_for(1050);
	before = allocations;
	check("new.test", RESOLVE_OK, "127.0.0.1");
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "both.n%u.test", i);
		check(name, RESOLVE_OK, "192.0.2.1 2001:db8::1");
	}
	check("192.0.2.1", RESOLVE_OK, "192.0.2.1");
	check("alias.test", RESOLVE_OK, "192.0.2.9 2001:db8::9");
	check("nx.test", RESOLVE_NOT_FOUND, "");
	check("servfail.test", RESOLVE_FAILED, "");
	struct asked bad[3] = { 0 };
	resolve_start(&bad[0].lookup, "cut5.test", on_done);
	assert_int_equal(wait_for(&bad[0]), RESOLVE_FAILED); /* alone: c-ares 1.34 hangs up on it */
	resolve_start(&bad[1].lookup, "drop.test", on_done);
	resolve_start(&bad[2].lookup, "half.test", on_done);
	assert_int_equal(wait_for(&bad[1]), RESOLVE_FAILED);
	assert_int_equal(wait_for(&bad[2]), RESOLVE_OK);
	resolve_release(&bad[2].lookup);
	struct asked a = { 0 };
	resolve_start(&a.lookup, "many60.test", on_done);
	assert_int_equal(wait_for(&a), RESOLVE_OK);
	resolve_release(&a.lookup);
	memset(many, 0, sizeof(many));
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "m%u.test", i);
		resolve_start(&many[i].lookup, name, on_done);
	}
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(wait_for(&many[i]), RESOLVE_OK);
		resolve_release(&many[i].lookup);
	}
	assert_int_equal(allocations, before);
}

static void make_path(char path[64])
{
	snprintf(path, 64, "/tmp/resolve-test-XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(literals),
		TEST(localhost),
		TEST(families),
		TEST(negative),
		TEST(failures_are_not_kept),
		TEST(silence),
		TEST(silence_is_idle),
		TEST(no_server_there),
		TEST(over_tcp),
		TEST(malformed),
		TEST(lifetimes),
		TEST(asked_once),
		TEST(thousand_names),
		TEST(full_tables),
		TEST(shares),
		TEST(shares_of_halves),
		TEST(share_of_a_peer),
		TEST(leave_early),
		TEST(from_inside_done),
		TEST(hosts_file),
		TEST(hosts_file_without_descriptors),
		TEST(network_comes_up),
		TEST(search_list),
		TEST(bad_servers),
		TEST(opens_again),
		TEST(no_heap),
	};

	make_path(hosts_path);
	make_path(conf_path);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(hosts_path);
	unlink(conf_path);
	return failed;
}
