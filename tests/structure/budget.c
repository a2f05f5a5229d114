/*
 * The sizes of what exists once per connection, against their budgets. The compiler refuses
 * a breach; the program says how much is left. Run by `make budget`.
 */
#include "core/block.h"
#include "core/reactor.h"
#include "core/timer.h"
#include "net/assoc.h"
#include "net/endpoint.h"
#include "net/flow.h"
#include "net/session.h"
#include "net/wire.h"

#include <stdio.h>

enum {
	SOURCE_MAX = sizeof(void *) == 8 ? 24 : 20,
	TIMER_MAX = 32,
	FLOW_MAX = 32,
	ENDPOINT_MAX = 260,
	WIRE_STATE_MAX = 96,
	SESSION_MAX = 1280,
	ASSOC_MAX = 1280
};

_Static_assert(sizeof(struct source) <= SOURCE_MAX, "struct source is over its budget");
_Static_assert(sizeof(struct timer) <= TIMER_MAX, "struct timer is over its budget");
_Static_assert(sizeof(struct flow) <= FLOW_MAX, "struct flow is over its budget");
_Static_assert(sizeof(struct endpoint) <= ENDPOINT_MAX, "struct endpoint is over its budget");
_Static_assert(sizeof(struct wire_state) <= WIRE_STATE_MAX, "struct wire_state is over its budget");
_Static_assert(sizeof(struct session) <= SESSION_MAX, "struct session is over its budget");
_Static_assert(sizeof(struct assoc) <= ASSOC_MAX, "struct assoc is over its budget");
_Static_assert(sizeof(struct block) + BLOCK_ROOM == BLOCK_SIZE, "a block is not BLOCK_SIZE");

int main(void)
{
	const struct {
		const char *name;
		size_t size, max;
	} rows[] = {
		{ "source", sizeof(struct source), SOURCE_MAX },
		{ "timer", sizeof(struct timer), TIMER_MAX },
		{ "flow", sizeof(struct flow), FLOW_MAX },
		{ "endpoint", sizeof(struct endpoint), ENDPOINT_MAX },
		{ "wire_state", sizeof(struct wire_state), WIRE_STATE_MAX },
		{ "session", sizeof(struct session), SESSION_MAX },
		{ "assoc", sizeof(struct assoc), ASSOC_MAX },
	};
	unsigned count = sizeof(rows) / sizeof(rows[0]);

	for (unsigned i = 0; i < count; i++)
		printf("ok   struct %-10s %4zu of %4zu bytes\n", rows[i].name, rows[i].size,
		       rows[i].max);
	printf("%u passed, 0 failed\n", count);
	return 0;
}
