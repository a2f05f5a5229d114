/*
 * The options of a socket, as far as every BSD has them. What is missing falls back, or is an
 * error, as net/socket.h says.
 */
#include "net/socket_platform.h"

const struct option_name option_names[OPTION_COUNT] = {
	[OPTION_FAST_LISTEN] = { 0, -1 }, [OPTION_FAST_CONNECT] = { 0, -1 },
	[OPTION_KEEP_IDLE] = { 0, -1 },	  [OPTION_KEEP_EVERY] = { 0, -1 },
	[OPTION_KEEP_PROBES] = { 0, -1 }, [OPTION_LATE_PORT] = { 0, -1 },
	[OPTION_MARK] = { 0, -1 },	  [OPTION_INTERFACE] = { 0, -1 },
	[OPTION_MERGE] = { 0, -1 },	  [OPTION_SEGMENT] = { 0, -1 },
};

/* Replies leave from the address that the system chooses. */
int platform_tell_origin(int fd, int family)
{
	(void)fd, (void)family;
	return 0;
}

int platform_fragments(int fd, int family, bool may)
{
	(void)fd, (void)family;
	return may ? 0 : -1;
}

const unsigned long request_unsent = 0;
const int protocol_multipath = -1;
