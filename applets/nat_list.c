/*
 * Lists of addresses for rules; see nat.h. They come from flags and files, are as large as the
 * routes of a country, and are read once.
 */
#include "applets/nat.h"

#include "core/log.h"
#include "core/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char separators[] = " \t\r\n,";

static unsigned width(const struct address *address)
{
	return address->family == 4 ? 32 : 128;
}

/* Bits past the prefix do not count. */
static void mask(struct nat_cidr *cidr)
{
	for (unsigned i = 0; i < width(&cidr->address) / 8; i++) {
		unsigned keep = cidr->bits > 8 * i ? cidr->bits - 8 * i : 0;

		if (keep < 8)
			cidr->address.ip[i] &= (uint8_t)(0xff00 >> keep);
	}
}

static void append(struct nat_list *list, const struct nat_cidr *cidr)
{
	if (list->count == list->room) {
		unsigned room = list->room ? 2 * list->room : 64;
		struct nat_cidr *all = realloc(list->all, room * sizeof(*all));

		if (!all)
			die("no memory for a list of %u addresses", room);
		list->all = all;
		list->room = room;
	}
	list->all[list->count] = *cidr;
	mask(&list->all[list->count++]);
}

/* The length of a prefix, 0 to `most`: or -1. */
static int prefix(const char *text, unsigned most)
{
	unsigned n = 0;

	if (!*text || strlen(text) > 3)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		n = n * 10 + (unsigned)(*text - '0');
	}
	return n <= most ? (int)n : -1;
}

int nat_list_add(struct nat_list *list, const char *text)
{
	size_t n = strcspn(text, "/");
	struct nat_cidr cidr = { 0 };
	int bits;

	if (!address_read(&cidr.address, text, n))
		return -1;
	/* An IPv4-mapped prefix has become IPv4. */
	unsigned mapped = memchr(text, ':', n) && cidr.address.family == 4 ? 96 : 0;

	bits = text[n] ? prefix(text + n + 1, mapped + width(&cidr.address))
		       : (int)(mapped + width(&cidr.address));
	if (bits < (int)mapped)
		return -1;
	cidr.bits = (uint8_t)((unsigned)bits - mapped);
	append(list, &cidr);
	return 0;
}

void nat_list_address(struct nat_list *list, const struct address *address)
{
	append(list, &(struct nat_cidr){ *address, (uint8_t)width(address) });
}

const char *nat_list_words(struct nat_list *list, const char *text)
{
	char word[NAT_CIDR_TEXT];

	for (text += strspn(text, separators); *text; text += strspn(text, separators)) {
		size_t n = strcspn(text, separators);

		if (n >= sizeof(word))
			return text;
		memcpy(word, text, n);
		word[n] = '\0';
		if (nat_list_add(list, word) < 0)
			return text;
		text += n;
	}
	return NULL;
}

/* What comes behind a NUL counts, too. */
static void show_nuls(char *line, size_t n)
{
	for (char *nul; (nul = memchr(line, '\0', n));)
		*nul = '?';
}

int nat_list_file(struct nat_list *list, const char *path, char *why, size_t n)
{
	FILE *file = fopen(path, "re");
	const char *wrong = NULL;
	unsigned number = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t got;

	if (!file) {
		snprintf(why, n, "cannot open %s: %s", path, strerror(errno));
		return -1;
	}
	errno = 0;
	while (!wrong && (got = getline(&line, &room, file)) >= 0) {
		number++;
		show_nuls(line, (size_t)got);
		line[strcspn(line, "#\n")] = '\0';
		wrong = nat_list_words(list, line);
	}
	bool failed = !wrong && !feof(file); /* memory may have been missing, too */

	if (wrong) {
		line[wrong - line + strcspn(wrong, separators)] = '\0';
		text_make_printable(line);
		snprintf(why, n, "%s:%u: '%.60s' is neither an address nor a network", path, number,
			 wrong);
	} else if (failed) {
		snprintf(why, n, "cannot read %s: %s", path, strerror(errno));
	}
	free(line);
	fclose(file);
	return wrong || failed ? -1 : 0;
}

void nat_list_private(struct nat_list *list)
{
	static const char *const networks[] = {
		/* this machine, this network, private, shared, link-local */
		"0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12",
		/* protocols, examples, 6to4 relays, measurements */
		"192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15",
		/* examples, multicast, reserved and broadcast */
		"198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4",
		/* the same of IPv6 */
		"::/128 ::1/128 100::/64 2001:db8::/32 fc00::/7 fe80::/10 ff00::/8",
	};

	for (unsigned i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
		nat_list_words(list, networks[i]);
}

static int compare(const void *left, const void *right)
{
	const struct nat_cidr *a = left, *b = right;
	int order = a->address.family - b->address.family;

	if (order == 0)
		order = memcmp(a->address.ip, b->address.ip, sizeof(a->address.ip));
	return order ? order : a->bits - b->bits;
}

static bool covers(const struct nat_cidr *wide, const struct nat_cidr *cidr)
{
	struct nat_cidr cut = *cidr;

	if (wide->address.family != cidr->address.family || wide->bits > cidr->bits)
		return false;
	cut.bits = wide->bits;
	mask(&cut);
	return memcmp(cut.address.ip, wide->address.ip, sizeof(cut.address.ip)) == 0;
}

/* Sorted, what covers an entry stands before it, and nothing between that it does not cover. */
void nat_list_merge(struct nat_list *list)
{
	unsigned kept = 0;

	if (list->count)
		qsort(list->all, list->count, sizeof(*list->all), compare);
	for (unsigned i = 0; i < list->count; i++)
		if (kept == 0 || !covers(&list->all[kept - 1], &list->all[i]))
			list->all[kept++] = list->all[i];
	list->count = kept;
}

void nat_list_free(struct nat_list *list)
{
	free(list->all);
	*list = (struct nat_list){ 0 };
}

const char *nat_cidr_print(const struct nat_cidr *cidr, char *to)
{
	char ip[INET6_ADDRSTRLEN] = "";

	inet_ntop(cidr->address.family == 4 ? AF_INET : AF_INET6, cidr->address.ip, ip, sizeof(ip));
	snprintf(to, NAT_CIDR_TEXT, "%s/%u", ip, cidr->bits);
	return to;
}
