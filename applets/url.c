/*
 * ss-url: the servers of a configuration as ss:// links, and links as a configuration. What is
 * secret in its arguments is overwritten; links may come from the standard input instead.
 */
#include "applets/applet.h"

#include "applets/secret.h"
#include "core/json.h"
#include "core/log.h"
#include "core/options.h"
#include "core/text.h"
#include "net/url.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A link may be longer than one that is read: every byte of it escaped. */
enum { PRINTED_MAX = 4 * URL_MAX };

static int usage(FILE *to)
{
	fputs("usage: ss-url [-c FILE] [option...]\n"
	      "       ss-url URL...\n"
	      "       ss-url -\n"
	      "Print the servers of a configuration, with the options of ss-local, as ss:// links; "
	      "or "
	      "the\n"
	      "configuration that links, also of the standard input, stand for.\n",
	      to);
	return to == stdout ? 0 : 1;
}

static int refuse(const char *what, const char *why)
{
	fprintf(stderr, "ss-url: %s%s\n", what, why);
	return 1;
}

/* --- from settings to links */

/* As a link has it; NULL: it has none. */
static const char *secret_of(const struct settings_place *place)
{
	if (secret_family(place->method) == SECRET_NONE)
		return "";
	if (secret_family(place->method) == SECRET_SIP022 && place->key_text)
		return place->key_text;
	return place->key_text ? NULL : place->password;
}

/* One for each address of the place; of this user, unless NULL (SIP023: its key behind the
 * server's). */
static int print_place(const struct settings_place *place, const struct settings_user *user)
{
	struct url url = { .method = place->method->name,
			   .password = secret_of(place),
			   .plugin = place->plugin,
			   .plugin_opts = place->plugin_opts };
	char text[PRINTED_MAX], both[PRINTED_MAX], key[WIRE_KEY_MAX * 2];

	if (!url.password)
		return refuse(place->method->name, ": a link has a password, and no other key");
	if (user) {
		sodium_bin2base64(key, sizeof key, user->key, wire_key_len(place->method),
				  sodium_base64_VARIANT_ORIGINAL);
		snprintf(both, sizeof both, "%s:%s", url.password, key);
		url.password = both;
		url.tag = user->name;
	}
	for (unsigned i = 0; i < place->servers; i++) {
		url.server = place->server[i];
		if (url_print(&url, text, sizeof text) >= sizeof text)
			return refuse(place->method->name, ": too much for a link");
		puts(text);
	}
	sodium_memzero(text, sizeof text);
	sodium_memzero(both, sizeof both);
	sodium_memzero(key, sizeof key);
	return 0;
}

/* A server's own file may have users, which a client's settings know nothing of. */
static int print_all(const struct settings *settings)
{
	char *argv[] = { (char[]){ "ss-url" }, (char[]){ "-c" }, settings->config, NULL };
	struct options_reason reason;
	struct settings server = { 0 };
	const struct settings_place *place, *own;
	int status = 0;
	bool read = settings->config &&
		    settings_try_shared(&server, PROGRAM_SERVER, 3, argv, &reason) == 0;

	for (unsigned i = 0; (place = settings_place(settings, i)); i++) {
		own = read ? settings_place(&server, i) : NULL;
		if (!own || !own->users)
			status |= print_place(place, NULL);
		for (unsigned u = 0; own && u < own->user_count; u++)
			status |= print_place(place, &own->users[u]);
	}
	if (settings->config)
		settings_free(&server);
	return status;
}

/* A client's settings need a port to listen on, which no link has. */
static int print_links(int argc, char **argv)
{
	char *with_port[] = { argv[0], (char[]){ "-l" }, (char[]){ "1080" } };
	char **all = calloc((size_t)argc + 3, sizeof *all);
	struct options_reason reason;
	struct settings settings;
	int status = 0;

	if (!all || crypto_open() < 0)
		return refuse("no memory, or no random bytes", "");
	memcpy(all, with_port, sizeof with_port);
	memcpy(all + 3, argv + 1, (size_t)argc * sizeof *all);
	if (settings_try_shared(&settings, PROGRAM_LOCAL, argc + 2, all, &reason) < 0) {
		status = reason.why == OPTIONS_HELP ? usage(stdout) : refuse(reason.text, "");
	} else {
		status = print_all(&settings);
	}
	settings_free(&settings);
	free(all);
	return status;
}

/* --- from links to settings */

static void quote(const char *name, const char *text)
{
	char quoted[6 * URL_MAX + 3];

	if (!text)
		return;
	json_quote(quoted, sizeof quoted, text, strlen(text));
	printf("\t\"%s\": %s,\n", name, quoted);
	sodium_memzero(quoted, sizeof quoted);
}

static bool is_text(const char *text)
{
	size_t n = text ? strlen(text) : 0;

	for (size_t used; n; text += used, n -= used) {
		used = text_utf8((const unsigned char *)text, n);
		if (!used)
			return false;
	}
	return true;
}

static void print_object(const struct url *url)
{
	struct sockaddr_storage at;
	char host[ENDPOINT_TEXT];

	if (endpoint_socket(&url->server, &at))
		socket_print((struct sockaddr *)&at, false, host, sizeof host);
	else
		snprintf(host, sizeof host, "%s", url->server.host);
	puts("{");
	quote("remarks", url->tag);
	quote("server", host);
	if (*url->password)
		quote("password", url->password);
	quote("plugin", url->plugin);
	quote("plugin_opts", url->plugin_opts);
	quote("method", url->method);
	printf("\t\"server_port\": %u\n}", (unsigned)url->server.port);
}

/* One link of `count` that is the one `number`, from 0. */
static int print_link(const char *text, unsigned number, bool list)
{
	struct url url;
	const char *why = url_parse(&url, text);

	if (!why && !(is_text(url.method) && is_text(url.password) &&
		      (url.server.type != ENDPOINT_NAME || is_text(url.server.host)) &&
		      is_text(url.plugin) && is_text(url.plugin_opts) && is_text(url.tag)))
		why = "it has bytes that are not UTF-8, which JSON cannot hold";
	if (why) {
		fprintf(stderr, "ss-url: link %u: %s\n", number + 1, why);
	} else {
		fputs(!list ? "" : number ? ",\n" : "{ \"servers\": [\n", stdout);
		print_object(&url);
	}
	sodium_memzero(&url, sizeof url);
	return why ? 1 : 0;
}

/* Several are a list. */
static int print_links_given(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc && !status; i++)
		status = print_link(argv[i], (unsigned)i - 1, argc > 2);
	for (int i = 1; i < argc; i++)
		sodium_memzero(argv[i], strlen(argv[i]));
	if (!status)
		puts(argc > 2 ? "\n] }" : "");
	return status;
}

static int print_links_read(void)
{
	char *line = NULL;
	size_t size = 0;
	unsigned n = 0;
	int status = 0;

	while (!status && getline(&line, &size, stdin) >= 0) {
		line[strcspn(line, "\r\n")] = 0;
		if (*line)
			status = print_link(line, n++, true);
	}
	if (line)
		sodium_memzero(line, size);
	free(line);
	if (!status && !feof(stdin))
		status = refuse("cannot read standard input: ", strerror(errno));
	if (!status && n == 0)
		status = refuse("there is no link to read", "");
	if (!status)
		puts("\n] }");
	return status;
}

int url_main(int argc, char **argv)
{
	int status;

	if (argc < 2)
		return usage(stderr);
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))
		return usage(stdout);
	if (!strcmp(argv[1], "-") && argc == 2)
		status = print_links_read();
	else if (argv[1][0] == '-')
		status = print_links(argc, argv);
	else
		status = print_links_given(argc, argv);
	return status;
}
