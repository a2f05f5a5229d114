/* Any bytes: parsed or refused; and whatever is written as a string can be read back. */
#include "core/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_document document;
	struct json_error error;
	size_t n = json_quote(NULL, 0, (const char *)data, size);
	char *quoted = malloc(n + 1);

	json_parse(&document, (const char *)data, size, &error);
	json_free(&document);
	json_quote(quoted, n + 1, (const char *)data, size);
	if (json_parse(&document, quoted, n, &error) < 0)
		abort();
	json_free(&document);
	free(quoted);
	return 0;
}
