/*
 * ss --install: the applets' names as links to the one executable.
 */
#ifndef APPLETS_INSTALL_H
#define APPLETS_INSTALL_H

#include <stdbool.h>

/* Link `count` names in `dir` to the running executable, by hard links or symbolic ones. What has
 * such a name already is replaced without a moment in which it is missing, unless one of them is a
 * directory: then nothing is done. `argv0` is how the program was started, for systems without
 * /proc. 0, or -1 with the reason on stderr. */
int install_links(const char *argv0, const char *dir, bool symbolic, const char *const *names,
		  unsigned count);

#endif
