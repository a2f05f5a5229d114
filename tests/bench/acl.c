/*
 * What access control lists cost: reading them (time, memory), and a look-up, beside a plain loop
 * that asks each rule with regexec(). `make bench-acl`; lists given as arguments replace the
 * published ones. Each list is asked for names that are mostly in none, and for addresses in and
 * next to its networks. CPU time of this thread; medians of many turns.
 */
#include "tests/net/acl_reference.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NAMES = 4096, TURNS = 15, PLAIN_NAMES = 200 };

static const char *const published[] = {
	"acl4ssr-banAD.acl",	      "libev-chn.acl",
	"libev-gfwlist.acl",	      "libev-local.acl",
	"libev-server_block_chn.acl", "libev-server_block_local.acl",
	"natescarlet-gfwlist.acl",
};

enum { PUBLISHED = sizeof(published) / sizeof(published[0]) };

static struct endpoint names[NAMES], addresses[NAMES];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* The median, for one of `n` things. */
static unsigned long median(uint64_t *times, unsigned n)
{
	qsort(times, TURNS, sizeof(*times), compare);
	return (unsigned long)(times[TURNS / 2] / n);
}

static unsigned long look_up(const struct acl *acl, const struct endpoint *targets)
{
	uint64_t times[TURNS];
	volatile unsigned sum = 0;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		uint64_t began = now();
		for (unsigned i = 0; i < NAMES; i++)
			sum += acl_target(acl, &targets[i], NULL, NULL);
		times[turn] = now() - began;
	}
	return median(times, NAMES);
}

static unsigned long look_up_plainly(const struct reference *r)
{
	uint64_t began = now();
	volatile unsigned sum = 0;

	for (unsigned i = 0; i < PLAIN_NAMES; i++)
		sum += reference_name(r, 0, names[i].host) + reference_name(r, 1, names[i].host);
	return (unsigned long)((now() - began) / PLAIN_NAMES);
}

/* Pages of our own, in KiB. */
static long resident(void)
{
	long size = 0, pages = 0, shared = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file && fscanf(file, "%ld %ld %ld", &size, &pages, &shared) != 3)
		pages = shared = 0;
	if (file)
		fclose(file);
	return (pages - shared) * (sysconf(_SC_PAGESIZE) / 1024);
}

/* In a process of its own, so that memory is not what an earlier list left. */
static void load(const char *path)
{
	uint64_t times[TURNS];
	char reason[ACL_REASON_MAX];
	long before = resident(), after = 0;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		uint64_t began = now();
		struct acl *acl = acl_open(path, reason);
		times[turn] = now() - began;
		if (turn == 0)
			after = resident();
		if (acl == NULL) {
			fprintf(stderr, "%s\n", reason);
			exit(1);
		}
		struct acl_counts counts = acl_count(acl);
		if (turn == 0)
			printf("%-28s %8u %8u %8u %8u", strrchr(path, '/') + 1, counts.names,
			       counts.patterns, counts.networks, counts.inactive);
		acl_close(acl);
	}
	unsigned long us = median(times, 1000);
	printf(" %5lu.%02lu %8ld\n", us / 1000, us % 1000 / 10, after - before);
	fflush(stdout);
	_exit(0);
}

static int bench_load(const char *path)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		load(path);
	return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

static int bench_look_up(const char *path)
{
	struct reference reference;
	struct address address;
	char reason[ACL_REASON_MAX], name[256];
	struct acl *acl = acl_open(path, reason);
	if (acl == NULL || reference_open(&reference, path) != 0) {
		fprintf(stderr, "%s cannot be read twice\n", path);
		return 1;
	}
	for (unsigned i = 0; i < NAMES; i++) {
		reference_make_name(&reference, name);
		names[i] = (struct endpoint){ .type = ENDPOINT_NAME, .len = (uint8_t)strlen(name) };
		memcpy(names[i].host, name, names[i].len);
		reference_make_address(&reference, &address);
		endpoint_from_address(&addresses[i], &address, 1);
	}
	unsigned long by_name = look_up(acl, names), by_address = look_up(acl, addresses);
	unsigned long plain = look_up_plainly(&reference);
	printf("%-28s %8lu %8lu %10lu\n", strrchr(path, '/') + 1, by_name, by_address, plain);
	acl_close(acl);
	reference_close(&reference);
	return 0;
}

/* 10,000 names and 8,000 networks in one list, as large as lists get. */
static void write_large(const char *path)
{
	FILE *file = fopen(path, "w");
	static const char *const forms[] = { "(^|\\.)%s\\.com$\n", "^%s\\.net$\n", "\\.%s\\.org\n",
					     "%s\\.cn\n" };

	if (file == NULL)
		exit(1);
	fputs("[proxy_all]\n[bypass_list]\n", file);
	for (unsigned i = 0; i < 10000; i++) {
		char name[20];
		unsigned n = 4 + reference_random() % 14;
		for (unsigned k = 0; k < n; k++)
			name[k] = "etaoinshrdlucmfwypvbgkjqxz-0123"[reference_random() % 31];
		name[n] = '\0';
		fprintf(file, forms[i % 4], name);
	}
	for (unsigned i = 0; i < 8000; i++)
		fprintf(file, "%u.%u.%u.0/%u\n", 1 + reference_random() % 220,
			reference_random() % 256, reference_random() % 256,
			12 + reference_random() % 13);
	fclose(file);
}

static int each(char **paths, int (*bench)(const char *path))
{
	int failed = 0;

	for (; *paths; paths++) {
		failed |= bench(*paths);
		fflush(stdout);
	}
	return failed;
}

/* The large list and the published ones. */
static char **all(char *large)
{
	static char directory[300], paths[PUBLISHED][400], *list[PUBLISHED + 2];

	write_large(large);
	list[0] = large;
	if (reference_lists(directory, sizeof(directory)) == NULL) {
		printf("SKIPPED published lists: none in ../shared/data/acl; SS_SHARED\n");
		return list;
	}
	for (unsigned i = 0; i < PUBLISHED; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", directory, published[i]);
		list[i + 1] = paths[i];
	}
	return list;
}

int main(int argc, char **argv)
{
	char large[] = "/tmp/bench-acl-XXXXXX";
	int failed, fd = mkstemp(large);

	if (fd < 0)
		return 1;
	close(fd);
	char **paths = argc > 1 ? argv + 1 : all(large);
	printf("%-28s %8s %8s %8s %8s %8s %8s\n", "reading", "names", "patterns", "networks",
	       "inactive", "ms", "KiB");
	fflush(stdout);
	failed = each(paths, bench_load);
	printf("%-28s %8s %8s %10s\n", "ns for a look-up", "name", "address", "regexec()");
	fflush(stdout);
	failed |= each(paths, bench_look_up);
	unlink(large);
	return failed;
}
