/* Any text as an ss:// link: what is read is printed, and that means the same. */
#include "net/url.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static int same(const char *a, const char *b)
{
	return a == NULL ? b == NULL : b && !strcmp(a, b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct url url, again;
	static char text[URL_MAX + 1], printed[4 * URL_MAX];
	size_t n;

	if (size > URL_MAX)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (url_parse(&url, text))
		return 0;
	assert(url.method && url.password && url.server.port);
	n = url_print(&url, printed, sizeof(printed));
	assert(n < sizeof(printed) && printed[n] == 0);
	if (n > URL_MAX)
		return 0;
	assert(url_parse(&again, printed) == NULL);
	assert(same(again.method, url.method) && same(again.password, url.password));
	assert(same(again.plugin, url.plugin) && same(again.plugin_opts, url.plugin_opts));
	assert(same(again.tag, url.tag) && !memcmp(&again.server, &url.server, sizeof(url.server)));
	return 0;
}
