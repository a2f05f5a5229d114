/*
 * What musl does for programs with several threads, of which this one has none in any of its
 * processes: to change the user in each of them, and to fork while others hold locks. Linked into
 * static executables.
 */
#include <unistd.h>

void __synccall(void (*act)(void *), void *with);
void __synccall(void (*act)(void *), void *with)
{
	act(with);
}

pid_t fork(void)
{
	return _Fork();
}
