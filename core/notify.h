/*
 * What a service manager is told (systemd's protocol: sd_notify(3)): that the program is ready,
 * reads its settings again, ends, and, if it asks for that, is still alive. Without NOTIFY_SOCKET
 * in the environment nothing is said. One per process; the main process's.
 */
#ifndef CORE_NOTIFY_H
#define CORE_NOTIFY_H

/* Take NOTIFY_SOCKET and WATCHDOG_USEC from the environment, so that children do not have them.
 * Before privileges are dropped. */
void notify_open(void);

/* Connections are accepted; or, after notify_reloading(), all is in place again. From the first
 * time on the reactor sends signs of life, twice in the time in which one is asked for. */
void notify_ready(void);

void notify_reloading(void);
void notify_stopping(void);

#endif
