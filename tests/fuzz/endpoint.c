/* Whatever is read from the wire can be written back, printed and made into a socket address;
 * the same bytes are tried as text for people. */
#include "net/endpoint.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char wire[ENDPOINT_WIRE_MAX];
	char text[ENDPOINT_TEXT], string[600];
	struct sockaddr_storage to;
	struct endpoint e;

	int n = endpoint_read(&e, data, size);
	if (n > 0) {
		assert(endpoint_write(&e, wire) == (size_t)n && memcmp(wire, data, (size_t)n) == 0);
		endpoint_normalise(&e);
		endpoint_print(&e, text, sizeof(text));
		if (endpoint_socket(&e, &to) == 0 && endpoint_resolvable(&e))
			assert(endpoint_parse(&e, text, 1) == 0);
	}
	if (size >= sizeof(string))
		return 0;
	memcpy(string, data, size);
	string[size] = '\0';
	if (endpoint_parse(&e, string, 1) == 0) {
		struct endpoint again;
		endpoint_print(&e, text, sizeof(text));
		assert(endpoint_parse(&again, text, 2) == 0 && again.port == e.port &&
		       again.type == e.type);
	}
	return 0;
}
