/*
 * See request.h. Reading is liberal, as there are many clients: what follows the word may be a
 * colon, blanks, a newline, a NUL or nothing, and ports are numbers or strings.
 */
#include "applets/request.h"

#include "core/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *word;
	uint8_t kind; /* enum request_kind */
	bool object;  /* it needs one */
} words[] = {
	{ "add", REQUEST_ADD, true },		{ "remove", REQUEST_REMOVE, true },
	{ "list", REQUEST_LIST, false },	{ "ping", REQUEST_PING, false },
	{ "stat", REQUEST_STAT, true },		{ "stats", REQUEST_STATS, false },
	{ "add_user", REQUEST_ADD_USER, true }, { "remove_user", REQUEST_REMOVE_USER, true },
};

enum { WORDS = sizeof words / sizeof words[0] };

const struct reply_form reply_list = { "[", "\n\t", ",\n\t", "\n]", "\n]" };
const struct reply_form reply_ping = { "stat: {", "", ",", "}", "}" };
const struct reply_form reply_stats = { "{\"ports\":[", "\n", ",\n", "\n]}", "\n],\"more\":true}" };

static bool ends_word(char c)
{
	return c == ':' || c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == 0;
}

/* Which word it begins with; WORDS: none of ours. */
static unsigned word_of(const char *bytes, size_t n)
{
	size_t length = 0;

	while (length < n && !ends_word(bytes[length]))
		length++;
	for (unsigned i = 0; i < WORDS; i++)
		if (strlen(words[i].word) == length && !memcmp(words[i].word, bytes, length))
			return i;
	return WORDS;
}

/* Is what comes with a report only for us to believe? Then it is not answered, whatever it is. */
static enum request_kind bad(enum request_kind kind)
{
	return kind == REQUEST_STAT ? REQUEST_NONE : REQUEST_BAD;
}

void request_read(struct request *request, const char *bytes, size_t n)
{
	const char *object;
	struct json_error error;
	unsigned i;

	*request = (struct request){ .kind = REQUEST_NONE };
	while (n > 0 && (ends_word(bytes[n - 1]) && bytes[n - 1] != ':'))
		n--;
	i = word_of(bytes, n);
	if (i == WORDS)
		return;
	request->kind = (enum request_kind)words[i].kind;
	object = memchr(bytes, '{', n);
	if (!object) {
		if (words[i].object)
			request->kind = bad(request->kind);
		return;
	}
	if (json_parse(&request->document, object, n - (size_t)(object - bytes), &error) < 0)
		request->kind = words[i].object ? bad(request->kind) : request->kind;
}

void request_free(struct request *request)
{
	json_free(&request->document);
}

uint16_t request_port(const struct json *object)
{
	const struct json *j = object ? json_member(object, "server_port") : NULL;
	uint16_t port;

	if (!j || (j->type != JSON_NUMBER && !json_plain(j)))
		return 0;
	return options_port(j->text, &port) < 0 ? 0 : port;
}

const char *request_text(const struct json *object, const char *name)
{
	const struct json *j = json_member(object, name);

	if (!j || !json_plain(j) || j->len < 1 || j->len > 255)
		return NULL;
	return j->text;
}

int request_report(const struct json *object, uint16_t *port, uint64_t *bytes)
{
	const struct json *j = object->first;
	int64_t value;

	if (!j || options_port(j->name, port) < 0 || j->type != JSON_NUMBER ||
	    json_integer(j, &value) < 0 || value < 0)
		return -1;
	*bytes = (uint64_t)value;
	return 0;
}

/* --- answers */

static void put(struct reply *reply, const char *text, size_t n)
{
	memcpy(reply->bytes + reply->n, text, n);
	reply->n += n;
}

static void put_text(struct reply *reply, const char *text)
{
	put(reply, text, strlen(text));
}

void reply_begin(struct reply *reply, const struct reply_form *form,
		 void (*send)(void *, const char *, size_t), void *to)
{
	reply->form = form;
	reply->send = send;
	reply->to = to;
	reply->items = 0;
	reply->n = 0;
	put_text(reply, form->begin);
}

static void finish(struct reply *reply, const char *end)
{
	put_text(reply, end);
	reply->send(reply->to, reply->bytes, reply->n);
}

void reply_add(struct reply *reply, const char *item, size_t n)
{
	const struct reply_form *form = reply->form;
	size_t frame = strlen(form->next) + strlen(form->end_more);

	if (n > REQUEST_MAX - frame - strlen(form->begin))
		return;
	if (reply->n + n + frame > REQUEST_MAX) {
		finish(reply, form->end_more);
		reply_begin(reply, form, reply->send, reply->to);
	}
	put_text(reply, reply->items++ ? form->next : form->first);
	put(reply, item, n);
}

void reply_end(struct reply *reply)
{
	finish(reply, reply->form->end);
}
