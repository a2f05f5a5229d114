/*
 * See resolve.h. What a name is, is decided in order: a literal, localhost, the hosts file, the
 * cache, DNS. The answer always lies in an entry, which is pinned while somebody holds it.
 *
 *     QUEUED ──> ASKED ──> READY ──> forgotten when it is old, unpinned and its place is wanted
 *        └─────────┴──> failed: told, not kept
 *
 * Entries that wait are in `pending`, oldest first, and one timer looks at the oldest. Entries
 * that are READY and not pinned are in `idle`, the longest unused first. Entries of names that are
 * asked or cached are also in a hash table; those of literals and of the hosts file are not.
 */
#include "net/resolve.h"

#include "core/file.h"
#include "core/log.h"
#include "core/reactor.h"
#include "core/slab.h"
#include "core/text.h"
#include "net/dns.h"
#include "net/hosts.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

enum {
	ENTRIES = 4096,		 /* names asked, waiting, cached or held at once */
	IDLE_MAX = 512,		 /* of these, cached and not held */
	SHARE_MAX = ENTRIES / 8, /* asked or waiting for one share */
	BUCKETS = 1024,
	TIMEOUT = 10000, /* ms, unless the options say otherwise */
	TTL_MIN = 1,	 /* s: what the name server says is taken within these */
	TTL_MAX = 300,
	TTL_PARTIAL = 30,  /* at most, when one family did not answer in time */
	TTL_NEGATIVE = 10, /* when the server does not say how long "no" holds */
	TTL_NEGATIVE_MAX = 60,
	HOSTS_RECHECK = 1000 /* ms between looks at the hosts file */
};

enum entry_state { ENTRY_QUEUED, ENTRY_ASKED, ENTRY_READY };

struct entry {
	struct entry *next;  /* in its bucket */
	struct list link;    /* in pending or idle */
	struct list queue;   /* in the queue of its share, while QUEUED */
	struct list waiters; /* lookups */
	struct dns_question question;
	uint64_t until; /* QUEUED, ASKED: when to give up; READY: when it is old */
	uint32_t pins;	/* lookups that hold the answer, and whoever goes over the waiters */
	uint8_t state;	/* enum entry_state */
	uint8_t status; /* enum resolve_status, once READY */
	uint8_t share;	/* of who asked first, or has shorter to wait */
	bool hashed;
	char name[ENDPOINT_NAME_MAX + 1]; /* lower case, no final dot */
	struct answer answer;
};

_Static_assert((int)RESOLVE_ADDRESSES == (int)DNS_ADDRESSES, "what is read can be kept");

static struct resolver {
	struct slab entries;
	struct entry *buckets[BUCKETS];
	unsigned char hash_key[crypto_shorthash_KEYBYTES];
	struct list pending, idle;
	struct share {
		struct list queue;
		unsigned pending; /* entries of it that are in `pending` */
	} shares[DNS_SHARES];
	uint8_t turn; /* the share to be asked for next */
	unsigned idle_count, pending_count, queue_count;
	struct timer timeout;
	struct hosts hosts;
	const char *hosts_path;
	struct file_stamp hosts_stamp;
	uint64_t hosts_checked;
	unsigned timeout_ms;
	bool ipv6_first;
} resolver;

/* The table */

static struct entry **bucket_of(const char *name)
{
	unsigned char hash[crypto_shorthash_BYTES];

	crypto_shorthash(hash, (const unsigned char *)name, strlen(name), resolver.hash_key);
	return &resolver.buckets[(hash[0] | hash[1] << 8) % BUCKETS];
}

static struct entry *find(const char *name)
{
	struct entry *entry = *bucket_of(name);

	while (entry != NULL && strcmp(entry->name, name) != 0)
		entry = entry->next;
	return entry;
}

static void unhash(struct entry *entry)
{
	if (!entry->hashed)
		return;
	struct entry **at = bucket_of(entry->name);
	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	entry->hashed = false;
}

static void enqueue(struct entry *entry)
{
	entry->state = ENTRY_QUEUED;
	list_append(&resolver.shares[entry->share].queue, &entry->queue);
	resolver.queue_count++;
}

static void dequeue(struct entry *entry)
{
	if (list_empty(&entry->queue))
		return;
	list_remove(&entry->queue);
	resolver.queue_count--;
}

/* It has begun to be pending, or ends to be. */
static void count_pending(const struct entry *entry, int by)
{
	resolver.pending_count += (unsigned)by;
	resolver.shares[entry->share].pending += (unsigned)by;
}

static void discard(struct entry *entry)
{
	assert(entry->pins == 0 && list_empty(&entry->waiters));
	unhash(entry);
	if (entry->state == ENTRY_READY && !list_empty(&entry->link))
		resolver.idle_count--;
	if (entry->state != ENTRY_READY)
		count_pending(entry, -1);
	list_remove(&entry->link);
	dequeue(entry);
	dns_leave(&entry->question);
	slab_give(&resolver.entries, entry);
}

static struct entry *oldest_idle(void)
{
	return container_of(resolver.idle.next, struct entry, link);
}

/* An entry in no list, READY and without an answer. NULL: all are in use. */
static struct entry *new_entry(const char *name)
{
	struct entry *entry = slab_take(&resolver.entries);

	if (entry == NULL && resolver.idle_count > 0) {
		discard(oldest_idle());
		entry = slab_take(&resolver.entries);
	}
	if (entry == NULL) {
		log_warn("too many names are in use at once: further ones are not looked up");
		return NULL;
	}
	list_init(&entry->link);
	list_init(&entry->queue);
	list_init(&entry->waiters);
	entry->state = ENTRY_READY;
	memcpy(entry->name, name, strlen(name) + 1);
	return entry;
}

static void pin(struct entry *entry)
{
	if (entry->pins++ == 0 && !list_empty(&entry->link)) {
		list_remove(&entry->link);
		resolver.idle_count--;
	}
}

static void unpin(struct entry *entry)
{
	assert(entry->pins > 0 && entry->state == ENTRY_READY);
	if (--entry->pins > 0)
		return;
	if (!entry->hashed) {
		discard(entry);
		return;
	}
	list_append(&resolver.idle, &entry->link);
	if (++resolver.idle_count > IDLE_MAX)
		discard(oldest_idle());
}

static enum resolve_status hold(struct lookup *lookup, struct entry *entry)
{
	pin(entry);
	lookup->answer = &entry->answer;
	return lookup->status = RESOLVE_OK;
}

/* Answers without DNS */

static bool is_localhost(const char *name)
{
	static const char localhost[] = "localhost";
	size_t n = strlen(name), m = sizeof(localhost) - 1;

	return n >= m && strcmp(name + n - m, localhost) == 0 && (n == m || name[n - m - 1] == '.');
}

static void refresh_hosts(void)
{
	uint64_t now = reactor_now();

	if (now < resolver.hosts_checked + HOSTS_RECHECK)
		return;
	resolver.hosts_checked = now;
	const struct file_stamp before = resolver.hosts_stamp;
	if (!file_changed(resolver.hosts_path, &resolver.hosts_stamp))
		return;
	ssize_t n = file_read(resolver.hosts_path, resolver.hosts.text, HOSTS_TEXT);
	if (n < 0 && errno != ENOENT)
		resolver.hosts_stamp = before; /* not read: look again next time */
	if (n < 0 && (errno == EMFILE || errno == ENFILE))
		return; /* what was read before lies there still, and serves meanwhile */
	hosts_index(&resolver.hosts, n > 0 ? (size_t)n : 0);
	if (n == HOSTS_TEXT || resolver.hosts.left_out > 0)
		log_warn("%s is too large: its end is not used", resolver.hosts_path);
}

/* Families alternate, the preferred one first (RFC 8305 4), each in the order it came. */
static void interleave(struct answer *answer, const struct address *first, unsigned first_count,
		       const struct address *second, unsigned second_count)
{
	unsigned n = 0;

	for (unsigned i = 0; i < RESOLVE_ADDRESSES; i++) {
		if (i < first_count && n < RESOLVE_ADDRESSES)
			answer->addresses[n++] = first[i];
		if (i < second_count && n < RESOLVE_ADDRESSES)
			answer->addresses[n++] = second[i];
	}
	answer->count = (uint8_t)n;
}

static void set_answer(struct answer *answer, const struct address *v4, unsigned v4_count,
		       const struct address *v6, unsigned v6_count)
{
	if (resolver.ipv6_first)
		interleave(answer, v6, v6_count, v4, v4_count);
	else
		interleave(answer, v4, v4_count, v6, v6_count);
}

/* The addresses of a name that DNS need not be asked for: how many. */
static unsigned find_local(const char *name, const struct endpoint *target, struct address *to)
{
	if (endpoint_address(target, to))
		return 1;
	if (is_localhost(name)) {
		address_set(&to[0], 4, "\x7f\0\0\1");
		address_set(&to[1], 6, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1");
		return 2;
	}
	refresh_hosts();
	return hosts_find(&resolver.hosts, name, to, RESOLVE_ADDRESSES);
}

static enum resolve_status answer_local(struct lookup *lookup, const char *name,
					const struct address *addresses, unsigned count)
{
	struct address v4[RESOLVE_ADDRESSES], v6[RESOLVE_ADDRESSES];
	unsigned v4_count = 0, v6_count = 0;
	struct entry *entry = new_entry(name);

	if (entry == NULL)
		return lookup->status = RESOLVE_FAILED;
	for (unsigned i = 0; i < count; i++)
		if (addresses[i].family == 4)
			v4[v4_count++] = addresses[i];
		else
			v6[v6_count++] = addresses[i];
	set_answer(&entry->answer, v4, v4_count, v6, v6_count);
	return hold(lookup, entry);
}

/* Answers of DNS */

/* Tell everybody who waits. They may start and release lookups, these and others, meanwhile. */
static void finish(struct entry *entry, enum resolve_status status, uint32_t ttl)
{
	dns_leave(&entry->question);
	list_remove(&entry->link);
	dequeue(entry);
	count_pending(entry, -1);
	entry->state = ENTRY_READY;
	entry->status = (uint8_t)status;
	entry->until = reactor_now() + (uint64_t)ttl * 1000;
	if (ttl == 0)
		unhash(entry);

	pin(entry);
	while (!list_empty(&entry->waiters)) {
		struct lookup *lookup = container_of(entry->waiters.next, struct lookup, link);
		list_remove(&lookup->link);
		lookup->status = (uint8_t)status;
		if (status == RESOLVE_OK)
			hold(lookup, entry);
		lookup->done(lookup);
	}
	unpin(entry);
}

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : value;
}

static uint32_t shorter(const struct dns_reply *a, const struct dns_reply *b)
{
	return a->ttl < b->ttl ? a->ttl : b->ttl;
}

static void on_found(struct dns_question *question, const struct dns_found *found)
{
	struct entry *entry = container_of(question, struct entry, question);
	const struct dns_reply *v4 = found->v4, *v6 = found->v6;
	uint32_t ttl;

	if (v4->outcome == DNS_FOUND || v6->outcome == DNS_FOUND) {
		set_answer(&entry->answer, v4->addresses, v4->count, v6->addresses, v6->count);
		if (v4->outcome == DNS_FOUND && v6->outcome == DNS_FOUND)
			ttl = shorter(v4, v6);
		else
			ttl = v4->outcome == DNS_FOUND ? v4->ttl : v6->ttl;
		ttl = clamp(ttl, TTL_MIN, found->partial ? TTL_PARTIAL : TTL_MAX);
		finish(entry, RESOLVE_OK, ttl);
	} else if (v4->outcome == DNS_NO_NAME ||
		   (v4->outcome == DNS_NO_DATA && v6->outcome != DNS_FAILED)) {
		ttl = v4->ttl != 0 ? v4->ttl : TTL_NEGATIVE;
		finish(entry, RESOLVE_NOT_FOUND, clamp(ttl, TTL_MIN, TTL_NEGATIVE_MAX));
	} else {
		finish(entry, RESOLVE_FAILED, 0);
	}
}

/* Ask the first of a share that waits. False: there is none, or it must go on waiting. */
static bool ask_next(struct share *share)
{
	if (list_empty(&share->queue))
		return false;

	struct entry *entry = container_of(share->queue.next, struct entry, queue);
	enum dns_asked asked = dns_ask(&entry->question, entry->name, entry->share);

	if (asked == DNS_BUSY)
		return false;
	dequeue(entry);
	entry->state = ENTRY_ASKED;
	if (asked == DNS_NO_SERVER)
		finish(entry, RESOLVE_FAILED, 0);
	return true;
}

/* Ask those that wait for a free slot, as long as there is one, one of each share in turn. */
static void ask_queued(void)
{
	for (unsigned idle = 0; idle < DNS_SHARES && resolver.queue_count > 0; idle++)
		if (ask_next(&resolver.shares[resolver.turn++]))
			idle = 0;
}

static void arm_timeout(void)
{
	if (list_empty(&resolver.pending)) {
		reactor_cancel(&resolver.timeout);
		return;
	}
	uint64_t due = container_of(resolver.pending.next, struct entry, link)->until;
	reactor_after(&resolver.timeout, due > reactor_now() ? due - reactor_now() : 0);
}

static void on_timeout(struct timer *timer)
{
	(void)timer;
	while (!list_empty(&resolver.pending)) {
		struct entry *entry = container_of(resolver.pending.next, struct entry, link);
		if (entry->until > reactor_now())
			break;
		finish(entry, RESOLVE_FAILED, 0);
	}
	arm_timeout();
}

static enum resolve_status ask(struct lookup *lookup, const char *name)
{
	struct share *share = &resolver.shares[lookup->share];
	bool too_many = lookup->share != 0 && share->pending >= SHARE_MAX;
	struct entry *entry = too_many ? NULL : new_entry(name);

	if (entry == NULL)
		return lookup->status = RESOLVE_FAILED;
	entry->question.done = on_found;
	entry->share = lookup->share;
	enum dns_asked asked = DNS_BUSY;
	if (list_empty(&share->queue))
		asked = dns_ask(&entry->question, name, entry->share);
	if (asked == DNS_NO_SERVER) {
		discard(entry);
		return lookup->status = RESOLVE_FAILED;
	}
	if (asked == DNS_BUSY)
		enqueue(entry);
	else
		entry->state = ENTRY_ASKED;
	struct entry **bucket = bucket_of(name);
	entry->next = *bucket;
	*bucket = entry;
	entry->hashed = true;
	entry->until = reactor_now() + resolver.timeout_ms;
	list_append(&resolver.pending, &entry->link);
	count_pending(entry, 1);
	list_append(&entry->waiters, &lookup->link);
	if (resolver.pending.next == &entry->link)
		arm_timeout();
	return lookup->status = RESOLVE_PENDING;
}

/* Somebody of another share waits for a queued name, too: it must not wait for longer than for a
 * name of its own. */
static void change_share(struct entry *entry, uint8_t share)
{
	if (resolver.shares[share].pending >= resolver.shares[entry->share].pending)
		return;
	dequeue(entry);
	count_pending(entry, -1);
	entry->share = share;
	count_pending(entry, 1);
	if (dns_ask(&entry->question, entry->name, share) == DNS_ASKED)
		entry->state = ENTRY_ASKED;
	else
		enqueue(entry);
}

/* From outside */

/* The name in lower case, without a final dot, to `key`; false if nobody can know such a name. */
static bool make_key(const char *name, struct endpoint *target, char key[ENDPOINT_NAME_MAX + 1])
{
	size_t n = strnlen(name, ENDPOINT_NAME_MAX + 1);

	if (n == 0 || n > ENDPOINT_NAME_MAX)
		return false;
	target->type = ENDPOINT_NAME;
	target->len = (uint8_t)n;
	target->port = 0;
	memcpy(target->host, name, n);
	target->host[n] = '\0';
	if (!endpoint_resolvable(target))
		return false;
	endpoint_normalise(target);
	if (name[n - 1] == '.')
		n--;
	for (size_t i = 0; i < n; i++)
		key[i] = text_lower(name[i]);
	key[n] = '\0';
	return true;
}

uint8_t resolve_share(const struct address *peer)
{
	unsigned char hash[crypto_shorthash_BYTES];

	crypto_shorthash(hash, peer->ip, peer->family == 4 ? 4 : 8, resolver.hash_key);
	return (uint8_t)(1 + (hash[0] | hash[1] << 8) % (DNS_SHARES - 1));
}

enum resolve_status resolve_start(struct lookup *lookup, const char *name,
				  void (*done)(struct lookup *))
{
	struct address addresses[RESOLVE_ADDRESSES];
	char key[ENDPOINT_NAME_MAX + 1];
	struct endpoint target;

	resolve_release(lookup);
	list_init(&lookup->link);
	lookup->done = done;
	if (!make_key(name, &target, key))
		return lookup->status = RESOLVE_NOT_FOUND;
	unsigned count = find_local(key, &target, addresses);
	if (count > 0)
		return answer_local(lookup, key, addresses, count);

	struct entry *entry = find(key);
	if (entry != NULL && entry->state == ENTRY_READY && entry->until <= reactor_now()) {
		unhash(entry);
		if (entry->pins == 0)
			discard(entry);
		entry = NULL;
	}
	if (entry == NULL)
		return ask(lookup, key);
	if (entry->state == ENTRY_READY && entry->status == RESOLVE_OK)
		return hold(lookup, entry);
	if (entry->state == ENTRY_READY)
		return lookup->status = entry->status;
	list_append(&entry->waiters, &lookup->link);
	if (entry->state == ENTRY_QUEUED)
		change_share(entry, lookup->share);
	return lookup->status = RESOLVE_PENDING;
}

/* Whoever waits last for an entry that was not asked yet takes it along; what was asked goes on,
 * and its answer will be cached. */
static void stop_waiting(struct lookup *lookup)
{
	bool last = lookup->link.next == lookup->link.prev;
	struct entry *entry = container_of(lookup->link.next, struct entry, waiters);

	list_remove(&lookup->link);
	if (!last || entry->state != ENTRY_QUEUED)
		return;
	discard(entry);
	arm_timeout();
}

static void answered(struct lookup *lookup)
{
	(void)lookup; /* its status tells */
}

enum resolve_status resolve_wait(struct lookup *lookup, const char *name)
{
	enum resolve_status status = resolve_start(lookup, name, answered);

	while (status == RESOLVE_PENDING && !reactor_stopping()) {
		reactor_turn(-1);
		status = (enum resolve_status)lookup->status;
	}
	return status;
}

void resolve_release(struct lookup *lookup)
{
	const struct answer *answer = lookup->answer;

	lookup->answer = NULL;
	if (lookup->link.next != NULL && !list_empty(&lookup->link))
		stop_waiting(lookup);
	if (answer != NULL)
		unpin(container_of((struct answer *)(uintptr_t)answer, struct entry, answer));
}

void resolve_forget(const char *name)
{
	char key[ENDPOINT_NAME_MAX + 1];
	struct endpoint target;

	if (!make_key(name, &target, key))
		return;
	struct entry *entry = find(key);
	if (entry == NULL || entry->state != ENTRY_READY)
		return;
	unhash(entry);
	if (entry->pins == 0)
		discard(entry);
}

unsigned resolve_pending(void)
{
	return resolver.pending_count;
}

int resolve_open(const struct resolve_options *options)
{
	struct resolve_options all = *options;

	if (all.timeout_ms == 0)
		all.timeout_ms = TIMEOUT;
	resolver = (struct resolver){
		.hosts_path = all.hosts != NULL ? all.hosts : "/etc/hosts",
		.timeout_ms = all.timeout_ms,
		.ipv6_first = all.ipv6_first,
	};
	list_init(&resolver.pending);
	for (unsigned i = 0; i < DNS_SHARES; i++)
		list_init(&resolver.shares[i].queue);
	list_init(&resolver.idle);
	timer_init(&resolver.timeout, on_timeout);
	randombytes_buf(resolver.hash_key, sizeof(resolver.hash_key));
	if (slab_open(&resolver.entries, sizeof(struct entry), ENTRIES) < 0 ||
	    hosts_open(&resolver.hosts) < 0) {
		log_error("the resolver cannot start: no memory");
		resolve_close();
		return -1;
	}
	if (dns_open(&all, ask_queued) < 0) {
		resolve_close();
		return -1;
	}
	return 0;
}

void resolve_close(void)
{
	if (resolver.hosts_path == NULL)
		return;
	dns_close();
	reactor_cancel(&resolver.timeout);
	hosts_close(&resolver.hosts);
	slab_close(&resolver.entries);
	resolver = (struct resolver){ 0 };
}
