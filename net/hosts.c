/*
 * See hosts.h. A line is an address, then names; '#' begins a comment. The index is a hash table
 * with open addressing; a slot says where in the text a name and its line begin. A name may stand
 * on several lines and has then several slots, in the order of the lines.
 */
#include "net/hosts.h"

#include "core/pages.h"
#include "core/text.h"

#include <string.h>

enum {
	SLOTS = 524288, /* a power of two, 4/3 of HOSTS_NAMES */
	SAME_MAX = 32	/* lines on which one name counts */
};

struct hosts_slot {
	uint32_t name, line; /* offsets; a name is never at 0, so that is an empty slot */
};

_Static_assert(SLOTS >= HOSTS_NAMES + HOSTS_NAMES / 3, "the largest index fits");

/* A place in the text, going from word to word. */
struct walk {
	const char *at, *end, *line;
};

int hosts_open(struct hosts *hosts)
{
	*hosts = (struct hosts){ .text = pages_reserve(HOSTS_TEXT + 1) };
	if (hosts->text == NULL)
		return -1;
	hosts->slots = pages_reserve(SLOTS * sizeof(struct hosts_slot));
	if (hosts->slots == NULL) {
		hosts_close(hosts);
		return -1;
	}
	hosts_index(hosts, 0);
	return 0;
}

void hosts_close(struct hosts *hosts)
{
	if (hosts->text != NULL)
		pages_release(hosts->text, HOSTS_TEXT + 1);
	if (hosts->slots != NULL)
		pages_release(hosts->slots, SLOTS * sizeof(struct hosts_slot));
	*hosts = (struct hosts){ 0 };
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' || c == '\0';
}

static bool ends_word(char c)
{
	return is_blank(c) || c == '\n' || c == '#';
}

static size_t word_length(const char *word)
{
	size_t n = 0;
	while (!ends_word(word[n]))
		n++;
	return n;
}

/* A name's length without a final dot. */
static size_t name_length(const char *name)
{
	size_t n = word_length(name);
	return n > 0 && name[n - 1] == '.' ? n - 1 : n;
}

/* The next name of the text, or NULL; walk->line is then the address it belongs to. */
static const char *next_name(struct walk *walk)
{
	while (walk->at < walk->end) {
		if (*walk->at == '#') {
			walk->at = memchr(walk->at, '\n', (size_t)(walk->end - walk->at) + 1);
			continue;
		}
		if (*walk->at == '\n')
			walk->line = NULL;
		if (ends_word(*walk->at)) {
			walk->at++;
			continue;
		}
		const char *word = walk->at;
		walk->at += word_length(word);
		if (walk->line != NULL)
			return word;
		walk->line = word;
	}
	return NULL;
}

/* FNV-1a */
static uint32_t hash(const char *name, size_t n)
{
	uint32_t h = 2166136261U;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619U;
	return h ^ h >> 15;
}

static bool is_name_of(const struct hosts *hosts, const struct hosts_slot *slot, const char *name,
		       size_t n)
{
	const char *here = hosts->text + slot->name;
	return name_length(here) == n && memcmp(here, name, n) == 0;
}

static void add(struct hosts *hosts, const char *name, const char *line)
{
	size_t n = name_length(name);
	unsigned same = 0;
	uint32_t i = hash(name, n) & hosts->mask;

	for (; hosts->slots[i].name != 0; i = (i + 1) & hosts->mask)
		if (is_name_of(hosts, &hosts->slots[i], name, n) && ++same == SAME_MAX)
			return;
	hosts->slots[i] = (struct hosts_slot){
		.name = (uint32_t)(name - hosts->text),
		.line = (uint32_t)(line - hosts->text),
	};
}

void hosts_index(struct hosts *hosts, size_t n)
{
	struct walk all = { .at = hosts->text, .end = hosts->text + n }, again = all;
	uint32_t names = 0;

	hosts->text[n] = '\n';
	for (size_t i = 0; i < n; i++)
		hosts->text[i] = text_lower(hosts->text[i]);
	while (next_name(&all) != NULL)
		names++;
	hosts->left_out = names > HOSTS_NAMES ? names - HOSTS_NAMES : 0;
	names -= hosts->left_out;

	hosts->mask = 15;
	while (hosts->mask + 1 < names + names / 3)
		hosts->mask = hosts->mask * 2 + 1;
	memset(hosts->slots, 0, ((size_t)hosts->mask + 1) * sizeof(struct hosts_slot));
	for (; names > 0; names--) {
		const char *name = next_name(&again);
		add(hosts, name, again.line);
	}
}

unsigned hosts_find(const struct hosts *hosts, const char *name, struct address *to, unsigned max)
{
	size_t n = strlen(name);
	unsigned found = 0;

	for (uint32_t i = hash(name, n) & hosts->mask; hosts->slots[i].name != 0 && found < max;
	     i = (i + 1) & hosts->mask) {
		const struct hosts_slot *slot = &hosts->slots[i];
		const char *line = hosts->text + slot->line;

		if (is_name_of(hosts, slot, name, n) &&
		    address_read(&to[found], line, word_length(line)))
			found++;
	}
	return found;
}
