/*
 * Any text as an access control list, asked for a name of any bytes: the input's first line is the
 * name, the rest the list. What is found must be a line of the list. Warnings go nowhere.
 */
#include "net/acl.h"

#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct acl *acl, const uint8_t *name, size_t n, unsigned lines)
{
	struct endpoint target = { .type = ENDPOINT_NAME, .len = (uint8_t)(n < 255 ? n : 255) };
	struct address at[2] = { { .family = 4 }, { .family = 6 } };
	unsigned line = 0;

	memcpy(target.host, name, target.len);
	memcpy(at[0].ip, name, n < 4 ? n : 4);
	memcpy(at[1].ip, name, n < 16 ? n : 16);
	acl_target(acl, &target, NULL, NULL);
	for (unsigned i = 0; i < 2; i++)
		if (acl_target(acl, &target, &at[i], &line) == ACL_BY_ADDRESS || line > lines ||
		    acl_outbound(acl, &target, &at[i], &line) == ACL_BY_ADDRESS || line > lines ||
		    acl_client(acl, &at[i], &line) < ACL_ALLOW || line > lines)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int nowhere = -1, errors = -1;
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t n = end ? (size_t)(end - data) : size, rest = size - n;
	char reason[ACL_REASON_MAX];
	unsigned lines = 1;

	if (nowhere < 0) {
		nowhere = open("/dev/null", O_WRONLY);
		errors = dup(STDERR_FILENO);
		__sanitizer_set_report_fd((void *)(intptr_t)errors);
	}
	dup2(nowhere, STDERR_FILENO);
	struct acl *acl = acl_read("f", (const char *)data + n, rest, reason);
	dup2(errors, STDERR_FILENO);
	if (acl == NULL) {
		if (!memchr(reason, 0, sizeof(reason)) || reason[0] == '\0')
			abort();
		return 0;
	}
	for (size_t i = n; i < size; i++)
		lines += data[i] == '\n';
	ask(acl, data, n, lines);
	acl_close(acl);
	return 0;
}
