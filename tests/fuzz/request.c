/* A datagram to the manager: whatever it is, it is read and freed, and what it names are ports and texts. */
#include "applets/request.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request request;
	uint64_t bytes;
	uint16_t port;

	request_read(&request, (const char *)data, size);
	if (request.document.root && request.document.root->type == JSON_OBJECT) {
		const char *name = request_text(request.document.root, "name");

		request_port(request.document.root);
		assert(!name || (*name && strlen(name) <= 255));
		assert(request_report(request.document.root, &port, &bytes) < 0 || port > 0);
	}
	request_free(&request);
	return 0;
}
