/*
 * What --version tells: our version, the libraries', and the methods that are built in.
 */
#ifndef APPLETS_VERSION_H
#define APPLETS_VERSION_H

/* To standard output; an exit status. */
int version_print(void);

#endif
