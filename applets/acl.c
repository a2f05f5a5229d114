/*
 * ss-acl: what an access control list says about names and addresses, and which of its rules says
 * so; or, without any, whether it is understood.
 */
#include "applets/applet.h"
#include "core/text.h"
#include "net/acl.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 200 }; /* bytes of a rule */

static int usage(FILE *to)
{
	fputs("usage: ss-acl FILE [NAME-or-ADDRESS...]\n"
	      "Print what the access control list FILE says about each, and the rule that says "
	      "so;\n"
	      "without any, how many rules it has. Rules that cannot be used are named.\n",
	      to);
	return to == stdout ? 0 : 1;
}

static int refuse(const char *why)
{
	fprintf(stderr, "ss-acl: %s\n", why);
	return 1;
}

/* A rule as it stands in its line, cut, fit for a terminal. */
static void print_line(const char *path, unsigned line)
{
	FILE *file = fopen(path, "r");
	char text[SHOWN] = "";
	unsigned at = 1, n = 0;
	bool comment = false;
	int c;

	while (file && at <= line && (c = getc(file)) != EOF) {
		at += c == '\n';
		comment = at == line && (comment || c == '#');
		if (at == line && !comment && n < sizeof(text) - 1 &&
		    (n > 0 || strchr(" \t\r\n", c) == NULL))
			text[n++] = (char)c;
	}
	if (file)
		fclose(file);
	while (n > 0 && strchr(" \t\r\n", text[n - 1]))
		text[--n] = '\0';
	text_make_printable(text);
	printf(", by line %u: %s\n", line, text);
}

static void print(const char *path, const char *subject, const char *as, enum acl_verdict verdict,
		  unsigned line)
{
	static const char *const words[] = { [ACL_BY_ADDRESS] = "what its address says",
					     [ACL_PROXY] = "proxy",
					     [ACL_DIRECT] = "direct",
					     [ACL_ALLOW] = "allow",
					     [ACL_REFUSE] = "refuse" };

	printf("%s as %s: %s", subject, as, words[verdict]);
	if (line > 0)
		print_line(path, line);
	else
		puts(verdict == ACL_BY_ADDRESS ? "" : ", by default");
}

static int ask(const struct acl *acl, const char *path, const char *subject)
{
	struct endpoint target = { .type = ENDPOINT_NAME, .len = (uint8_t)strlen(subject) };
	struct address address;
	enum acl_verdict verdict;
	unsigned line;

	if (strlen(subject) == 0 || strlen(subject) > ENDPOINT_NAME_MAX)
		return refuse("a name has 1 to 255 characters");
	memcpy(target.host, subject, target.len);
	endpoint_normalise(&target);
	verdict = acl_target(acl, &target, NULL, &line);
	print(path, subject, "a client's target", verdict, line);
	verdict = acl_outbound(acl, &target, NULL, &line);
	if (endpoint_resolvable(&target))
		print(path, subject, "a server's target", verdict, line);
	else
		printf("%s as a server's target: refuse, as no host can have this name\n", subject);
	if (endpoint_address(&target, &address)) {
		verdict = acl_client(acl, &address, &line);
		print(path, subject, "a server's client", verdict, line);
	}
	return 0;
}

static void tell(const char *sentence)
{
	fprintf(stderr, "ss-acl: %s\n", sentence);
}

int acl_main(int argc, char **argv)
{
	char reason[ACL_REASON_MAX];
	struct acl *acl;
	int status = 0;

	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return usage(stdout);
	if (argc < 2 || argv[1][0] == '-')
		return usage(stderr);
	acl = acl_open_telling(argv[1], tell, reason);
	if (acl == NULL)
		return refuse(reason);
	struct acl_counts counts = acl_count(acl);
	if (argc == 2)
		printf("%u names, %u patterns, %u networks, %u left out\n", counts.names,
		       counts.patterns, counts.networks, counts.inactive);
	for (int i = 2; i < argc; i++)
		status |= ask(acl, argv[1], argv[i]);
	acl_close(acl);
	return status;
}
