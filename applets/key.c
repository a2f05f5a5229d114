/*
 * ss-key: a fresh random key for a method, in the form that the programs take.
 */
#include "applets/applet.h"
#include "applets/features.h"
#include "applets/secret.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

static int usage(FILE *to)
{
	fputs("usage: ss-key METHOD\n"
	      "Print a fresh random key for METHOD: for the methods of 2022 what the key "
	      "'password'\n"
	      "(-k) takes, for older ones what the key 'key' (--key) takes. Methods:\n",
	      to);
	for (unsigned i = 0; wire_list(i); i++)
		if (wire_built(wire_list(i)) && secret_family(wire_list(i)) != SECRET_NONE)
			fprintf(to, "  %s\n", wire_list(i)->name);
	return to == stdout ? 0 : 1;
}

static int refuse(const char *method, const char *why)
{
	fprintf(stderr, "ss-key: %.60s %s\n", method, why);
	return 1;
}

int key_main(int argc, char **argv)
{
	const struct wire_method *method;
	char text[SECRET_TEXT];

	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return usage(stdout);
	if (argc > 1 && argv[1][0] == '-') {
		refuse(argv[1], "is no option");
		return usage(stderr);
	}
	if (argc != 2)
		return usage(stderr);
	method = wire_find(argv[1]);
	if (!method)
		return refuse(argv[1], "is no method that is built in; -h lists them");
	if (!wire_built(method)) {
		fprintf(stderr, "ss-key: %s is not in this build%s\n", method->name,
			features_no_cipher());
		return 1;
	}
	if (secret_family(method) == SECRET_NONE)
		return refuse(argv[1], "encrypts nothing and has no key");
	if (crypto_open() < 0)
		return refuse(argv[1], "needs random bytes, and the system gives none");
	secret_fresh(method, text);
	puts(text);
	sodium_memzero(text, sizeof text);
	return 0;
}
