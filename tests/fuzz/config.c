/*
 * Any text as a configuration file of each program: settings or a reason, never an exit. The
 * warnings, one for nearly each key of nonsense, go nowhere; sanitizers still report.
 */
#include "applets/settings.h"

#include "core/options.h"

#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try(enum program program, const uint8_t *data, size_t size)
{
	struct settings settings;
	struct options_reason reason;

	if (settings_read_text(&settings, program, "f", (const char *)data, size, &reason) == 0)
		settings_free(&settings);
	else if (!memchr(reason.text, 0, sizeof reason.text) || reason.why < OPTIONS_USAGE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int nowhere = -1, errors = -1;

	if (nowhere < 0) {
		nowhere = open("/dev/null", O_WRONLY);
		errors = dup(STDERR_FILENO);
		__sanitizer_set_report_fd((void *)(intptr_t)errors);
	}
	dup2(nowhere, STDERR_FILENO);
	for (unsigned program = PROGRAM_LOCAL; program <= PROGRAM_MANAGER; program <<= 1)
		try((enum program)program, data, size);
	dup2(errors, STDERR_FILENO);
	return 0;
}
