/*
 * What stands in for ciphers that a build was made without (dist/without.mk). Weak: where the part
 * is there, its own functions win.
 */
#include "crypto/stream.h"

__attribute__((weak)) const struct stream *stream_find(const char *name)
{
	(void)name;
	return NULL;
}
