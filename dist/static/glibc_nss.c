/*
 * c-ares asks for service names, which this program never passes. With these two in a static
 * executable the linker leaves out glibc's name service switch, which would load shared libraries
 * at run time.
 */
#include <errno.h>
#include <netdb.h>
#include <stddef.h>

struct servent *getservbyname(const char *name, const char *protocol)
{
	(void)name;
	(void)protocol;
	return NULL;
}

int getservbyport_r(int port, const char *protocol, struct servent *entry, char *buffer, size_t n,
		    struct servent **result)
{
	(void)port;
	(void)protocol;
	(void)entry;
	(void)buffer;
	(void)n;
	*result = NULL;
	return ENOENT;
}
