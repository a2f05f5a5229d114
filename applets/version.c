/*
 * See version.h. Called by ss.c, and by applets whose other options stand around --version.
 */
#include "applets/version.h"

#include "applets/features.h"
#include "net/wire.h"

#include <ares.h>
#include <mbedtls/version.h>
#include <sodium.h>
#include <stdio.h>

int version_print(void)
{
	char mbedtls[16];

	mbedtls_version_get_string(mbedtls);
	printf("shadowsocks %s\n", SS_VERSION);
	printf("libsodium %s (compiled with %s)\n", sodium_version_string(), SODIUM_VERSION_STRING);
	printf("mbedtls %s (compiled with %s)\n", mbedtls, MBEDTLS_VERSION_STRING);
	printf("c-ares %s (compiled with %s)\n", ares_version(NULL), ARES_VERSION_STR);
	printf("methods:");
	for (unsigned i = 0; wire_list(i); i++)
		if (wire_built(wire_list(i)))
			printf(" %s", wire_list(i)->name);
	printf("\n");
	if (features_without()[0])
		printf("without: %s\n", features_without());
	return 0;
}
