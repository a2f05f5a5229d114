/*
 * Datagrams to the system's log daemon, as openlog(ident, LOG_CONS | LOG_PID, LOG_DAEMON) and
 * syslog() would send them, but without a heap and without ever waiting: glibc's syslog() grows
 * its message with malloc() and sends on a blocking socket, so that a stuck log daemon would stop
 * a relay. Only core/log.c calls this.
 */
#ifndef CORE_SYSLOG_H
#define CORE_SYSLOG_H

#include <stdbool.h>

/* `path` is the daemon's socket; both strings must stay valid. Connects when first needed. */
void syslog_open(const char *path, const char *ident);
void syslog_close(void);

/* Send one line; `priority` is LOG_ERR to LOG_DEBUG. False if nobody took it, in which case an
 * error has been written to the console, where there is one. */
bool syslog_write(int priority, const char *text);

#endif
