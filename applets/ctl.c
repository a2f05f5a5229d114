/*
 * ss-ctl: asks a manager, ours or another that speaks its language, and shows the answer.
 */
#include "applets/applet.h"

#include "applets/inbox.h"
#include "applets/request.h"
#include "applets/running.h"
#include "applets/secret.h"
#include "applets/workdir.h"
#include "core/fd.h"
#include "core/file.h"
#include "core/log.h"
#include "core/options.h"
#include "core/reactor.h"
#include "core/text.h"
#include "net/resolve.h"
#include "net/socket.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PATIENCE = 5000,  /* ms until there is no answer */
	MORE = 300,	  /* ms until there is no further part of one */
	LONG = 30000,	  /* bytes of a part that another may follow */
	WORDS = 64 << 10, /* bytes of a request */
	FAILED = 1	  /* exit status: the manager refused, or something is missing */
};

/* Of our end; or empty. It is to go however we end. */
static char path[64];

struct ctl {
	int fd;
	const char *address;
	char request[WORDS];
	char answer[REQUEST_MAX + 1];
	ssize_t n; /* bytes of it */
};

static int usage(FILE *to)
{
	fputs("usage: ss-ctl [-a ADDRESS] COMMAND [ARGUMENT...]\n"
	      "  -a, --manager-address ADDRESS  host:port or the path of the manager's socket\n"
	      "                                 (~/.shadowsocks/.ss-manager.socks)\n"
	      "  -h, --help                     this text\n"
	      "Commands:\n"
	      "  add PORT [KEY=VALUE...]   serve a port; keys are password, method, mode, ...\n"
	      "  remove PORT...            serve these ports no more\n"
	      "  add_user PORT NAME        let a user in, by a 2022 method\n"
	      "  remove_user PORT NAME     and no more\n"
	      "  list                      ports with their passwords and methods\n"
	      "  ping                      bytes of each port\n"
	      "  stats [PORT]              bytes up and down, connections, users\n"
	      "  watch [SECONDS]           bytes a second of the ports that have traffic\n"
	      "The password is password=..., or SS_PASSWORD, or the first line of the file\n"
	      "PASSWORD_FILE, or of the standard input.\n",
	      to);
	return to == stdout ? 0 : FAILED;
}

/* --- the conversation */

static void leave_path(void)
{
	if (path[0])
		unlink(path);
}

static void interrupted(int number)
{
	leave_path();
	_exit(128 + number);
}

/* By a terminal that is closed, by whoever reads no more; but nohup(1) is obeyed. */
static void catch_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

	for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (signal(ends[i], interrupted) == SIG_IGN)
			signal(ends[i], SIG_IGN);
}

/* Our end has a name that nobody can foresee; and only the manager is listened to, whoever it runs
 * as. */
static int bind_path(void)
{
	struct sender at;
	uint64_t number;
	int fd;

	randombytes_buf(&number, sizeof number);
	snprintf(path, sizeof path, "/tmp/.ss-ctl.%" PRIx64, number);
	if (!inbox_path(&at, path))
		return -1;
	fd = socket_mailbox((const struct sockaddr *)&at.at, at.len);
	if (fd < 0)
		path[0] = 0;
	else if (chmod(path, 0666) < 0)
		log_warn("%s: %s", path, strerror(errno));
	return fd;
}

static const char *look_up(struct endpoint *endpoint)
{
	const struct resolve_options names = { .servers = NULL };
	const char *why;

	if (endpoint->type != ENDPOINT_NAME)
		return NULL;
	if (reactor_open() < 0 || resolve_open(&names) < 0)
		return strerror(errno);
	why = applet_resolve(endpoint, endpoint);
	resolve_close();
	reactor_close();
	return why;
}

static void reach(struct ctl *ctl)
{
	struct endpoint endpoint;
	struct sender to = { .len = 0 };
	const char *why = NULL;

	if (workdir_is_port(ctl->address, &endpoint)) {
		why = look_up(&endpoint);
		to.len = why ? 0 : endpoint_socket(&endpoint, &to.at);
		ctl->fd = why ? -1 : socket_mailbox((const struct sockaddr *)&to.at, 0);
	} else {
		ctl->fd = inbox_path(&to, ctl->address) ? bind_path() : -1;
	}
	if (!why &&
	    (ctl->fd < 0 || socket_reconnect(ctl->fd, (const struct sockaddr *)&to.at, to.len) < 0))
		why = strerror(errno);
	if (why)
		die("no manager at %s: %s", ctl->address, why);
}

/* Wait for another datagram. False: there is none. */
static bool receive(struct ctl *ctl, int patience)
{
	struct pollfd look = { .fd = ctl->fd, .events = POLLIN };

	if (poll(&look, 1, patience) <= 0)
		return false;
	ctl->n = recv(ctl->fd, ctl->answer, REQUEST_MAX, 0);
	if (ctl->n < 0)
		return false;
	ctl->answer[ctl->n] = 0;
	return true;
}

static void ask(struct ctl *ctl, size_t n)
{
	struct pollfd room = { .fd = ctl->fd, .events = POLLOUT };

	poll(&room, 1, PATIENCE);
	if (send(ctl->fd, ctl->request, n, MSG_NOSIGNAL) >= 0 && receive(ctl, PATIENCE))
		return;
	die("no answer from %s", ctl->address);
}

/* Line by line, with nothing in it that a terminal obeys: whoever answers is trusted with no
 * more. */
static void print_answer(struct ctl *ctl)
{
	for (char *line = ctl->answer, *rest; line; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = 0;
		text_make_printable(line + strspn(line, "\t"));
		puts(line);
	}
}

static bool may_have_more(const struct ctl *ctl)
{
	return ctl->n > LONG;
}

/* --- requests */

static size_t begin(struct ctl *ctl, const char *word, const char *port)
{
	return (size_t)snprintf(ctl->request, WORDS, "%s: {\"server_port\":%s", word, port);
}

static size_t put(struct ctl *ctl, size_t n, const char *key, size_t key_len, const char *value)
{
	bool plain = !strcmp(value, "true") || !strcmp(value, "false");

	if (n + key_len + 8 >= WORDS)
		return n;
	n += (size_t)snprintf(ctl->request + n, WORDS - n, ",\"%.*s\":", (int)key_len, key);
	if (plain)
		n += (size_t)snprintf(ctl->request + n, WORDS - n, "%s", value);
	else
		n += json_quote(ctl->request + n, WORDS - n, value, strlen(value));
	return n < WORDS ? n : WORDS - 1;
}

/* What nobody gave on the command line. */
static size_t put_password(struct ctl *ctl, size_t n)
{
	struct settings_place place = { .servers = 0 };
	struct options_reason reason;
	char line[REQUEST_MAX / 2];

	if (secret_from_environment(&place, &reason) < 0)
		die("%s", reason.text);
	if (!place.password && !fgets(line, sizeof line, stdin))
		die("no password is given, see -h");
	if (!place.password)
		line[strcspn(line, "\r\n")] = 0;
	n = put(ctl, n, "password", 8, place.password ? place.password : line);
	if (place.password)
		sodium_memzero(place.password, strlen(place.password));
	free(place.password);
	sodium_memzero(line, sizeof line);
	return n;
}

static const char *port_of(const char *text)
{
	uint16_t port;

	if (!text || options_port(text, &port) < 0)
		die("a port is a number from 1 to 65535, not '%.40s'", text ? text : "");
	return text;
}

/* Why a manager refuses a place, as far as the request itself tells. */
static void explain_place(const struct ctl *ctl, struct options_reason *reason)
{
	const char *object = strchr(ctl->request, '{');
	struct settings settings = { .program = PROGRAM_MANAGER };
	struct json_document document;
	struct json_error error;
	struct settings_place place;

	if (json_parse(&document, object, strlen(object), &error) < 0)
		return;
	settings.top.method = wire_find("chacha20-ietf-poly1305");
	if (settings_read_place(&settings, &place, document.root, reason) == 0)
		settings_free_place(&settings, &place);
	json_free(&document);
}

/* What is behind the one word of a manager, which knows no more. */
static void explain(const struct ctl *ctl, const char *what)
{
	struct options_reason reason = { .text = "the manager refuses; why, its log says" };

	if (!strcmp(ctl->answer, "port is not available"))
		snprintf(reason.text, sizeof reason.text,
			 "another program has this port, or the manager may not use it");
	else if (!strncmp(ctl->request, "add:", 4))
		explain_place(ctl, &reason);
	text_make_printable(reason.text);
	fprintf(stderr, "ss-ctl: %s: %s\n", what, reason.text);
}

/* One word as the answer: the exit status. */
static int say(struct ctl *ctl, size_t n)
{
	char what[REQUEST_WORD * 2];
	int status;

	n += (size_t)snprintf(ctl->request + n, WORDS - n, "}");
	ask(ctl, n < WORDS ? n : WORDS - 1);
	status = strcmp(ctl->answer, "ok") ? FAILED : 0;
	if (status) {
		const char *port = strchr(ctl->request, '{') + strlen("{\"server_port\":");

		snprintf(what, sizeof what, "%.*s %.*s", (int)strcspn(ctl->request, ":"),
			 ctl->request, (int)strcspn(port, ",}"), port);
		explain(ctl, what);
	}
	print_answer(ctl);
	return status;
}

/* KEY=VALUE each, and a password in any case. Secrets are overwritten: others read them in ps. */
static size_t put_words(struct ctl *ctl, size_t n, char **words)
{
	bool secret = false;

	for (char **word = words; *word; word++) {
		char *equals = strchr(*word, '=');

		if (!equals)
			die("'%.40s' is no KEY=VALUE", *word);
		n = put(ctl, n, *word, (size_t)(equals - *word), equals + 1);
		if (!strncmp(*word, "password=", 9) || !strncmp(*word, "key=", 4)) {
			secret = true;
			memset(equals + 1, '*', strlen(equals + 1));
		}
	}
	return secret ? n : put_password(ctl, n);
}

static int add(struct ctl *ctl, char **words)
{
	size_t n = begin(ctl, "add", port_of(words[0]));

	return say(ctl, put_words(ctl, n, words + 1));
}

static int remove_ports(struct ctl *ctl, char **words)
{
	int status = 0;

	if (!*words)
		return usage(stderr);
	for (; *words; words++)
		status |= say(ctl, begin(ctl, "remove", port_of(*words)));
	return status;
}

static int user(struct ctl *ctl, char **words, const char *word, bool password)
{
	size_t n;

	if (!words[0] || !words[1])
		return usage(stderr);
	n = begin(ctl, word, port_of(words[0]));
	n = put(ctl, n, "name", 4, words[1]);
	return say(ctl, password ? put_words(ctl, n, words + 2) : n);
}

static int add_user(struct ctl *ctl, char **words)
{
	return user(ctl, words, "add_user", true);
}

static int remove_user(struct ctl *ctl, char **words)
{
	return user(ctl, words, "remove_user", false);
}

/* --- what is shown as it comes */

static int show(struct ctl *ctl, size_t n)
{
	ask(ctl, n);
	do
		print_answer(ctl);
	while (may_have_more(ctl) && receive(ctl, MORE));
	return !strcmp(ctl->answer, "err") ? FAILED : 0;
}

static int list(struct ctl *ctl, char **words)
{
	(void)words;
	return show(ctl, (size_t)snprintf(ctl->request, WORDS, "list"));
}

static int ping(struct ctl *ctl, char **words)
{
	(void)words;
	return show(ctl, (size_t)snprintf(ctl->request, WORDS, "ping"));
}

static size_t ask_stats(struct ctl *ctl, const char *port)
{
	if (!port)
		return (size_t)snprintf(ctl->request, WORDS, "stats");
	return (size_t)snprintf(ctl->request, WORDS, "stats: {\"server_port\":%s}", port_of(port));
}

static int stats(struct ctl *ctl, char **words)
{
	return show(ctl, ask_stats(ctl, words[0]));
}

/* --- what passes in a second */

struct passed {
	int64_t up, down;
	bool known;
};

/* 0 if there is none that may be a count. */
static int64_t number_of(const struct json *object, const char *name)
{
	const struct json *j = json_member(object, name);
	int64_t value;

	return j && j->type == JSON_NUMBER && json_integer(j, &value) == 0 && value > 0 ? value : 0;
}

static void show_port(const struct json *object, struct passed *all, unsigned seconds)
{
	int64_t port = number_of(object, "port"), up = number_of(object, "up");
	int64_t down = number_of(object, "down");
	struct passed *last;

	if (port < 1 || port > 65535 || !json_member(object, "up"))
		return;
	last = &all[port];
	if (last->known && (up != last->up || down != last->down))
		printf("%-6" PRId64 " %13" PRId64 " %13" PRId64 " %11" PRId64 "\n", port,
		       (up - last->up) / seconds, (down - last->down) / seconds,
		       number_of(object, "connections"));
	*last = (struct passed){ up, down, true };
}

/* True if another part follows. */
static bool show_part(struct ctl *ctl, struct passed *all, unsigned seconds)
{
	struct json_document document;
	struct json_error error;
	const struct json *ports;
	bool more = false;

	if (json_parse(&document, ctl->answer, (size_t)ctl->n, &error) < 0)
		die("this manager does not know 'stats'");
	ports = document.root->type == JSON_OBJECT ? json_member(document.root, "ports") : NULL;
	for (const struct json *j = ports ? ports->first : NULL; j; j = j->next)
		if (j->type == JSON_OBJECT)
			show_port(j, all, seconds);
	more = document.root->type == JSON_OBJECT && json_member(document.root, "more");
	json_free(&document);
	return more;
}

static int watch(struct ctl *ctl, char **words)
{
	struct passed *all = calloc(1 << 16, sizeof *all);
	unsigned seconds = words[0] ? (unsigned)strtoul(words[0], NULL, 10) : 1;

	if (!all || seconds < 1 || seconds > 86400)
		die("watch takes seconds, from 1 to 86400");
	printf("%-6s%14s%14s%12s\n", "port", "up/s", "down/s", "connections");
	for (;;) {
		ask(ctl, ask_stats(ctl, NULL));
		while (show_part(ctl, all, seconds) && receive(ctl, PATIENCE))
			;
		if (!file_written(stdout))
			break;
		poll(NULL, 0, (int)seconds * 1000);
	}
	free(all);
	return 0;
}

/* --- the way in */

static const struct {
	const char *name;
	int (*run)(struct ctl *, char **);
} commands[] = {
	{ "add", add },		  { "remove", remove_ports },
	{ "add_user", add_user }, { "remove_user", remove_user },
	{ "list", list },	  { "ping", ping },
	{ "stats", stats },	  { "watch", watch },
};

static int run(struct ctl *ctl, char **words)
{
	for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		if (strcmp(words[0], commands[i].name) != 0)
			continue;
		atexit(leave_path);
		catch_signals();
		reach(ctl);
		return commands[i].run(ctl, words + 1);
	}
	fprintf(stderr, "ss-ctl: there is no command '%.40s'; -h lists them\n", words[0]);
	return FAILED;
}

int ctl_main(int argc, char **argv)
{
	struct ctl *ctl;
	int i = 1, status;
	const char *address = NULL;
	char *own = NULL;

	if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return usage(stdout);
	if (argc > 2 && (!strcmp(argv[1], "-a") || !strcmp(argv[1], "--manager-address"))) {
		address = argv[2];
		i = 3;
	}
	if (i >= argc || argv[i][0] == '-')
		return usage(stderr);
	if (crypto_open() < 0)
		die("the system gives no random bytes");
	ctl = calloc(1, sizeof *ctl);
	if (!ctl)
		die("no memory for a request");
	if (!address) {
		char *directory = workdir_default();

		address = own = workdir_file(directory, WORKDIR_SOCKET);
		free(directory);
	}
	ctl->address = address;
	status = run(ctl, argv + i);
	sodium_memzero(ctl, sizeof *ctl);
	free(ctl);
	free(own);
	return status;
}
