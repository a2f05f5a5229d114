/*
 * Log lines: to stdout and stderr as shadowsocks-libev writes them, or to syslog. No line
 * allocates, blocks or is buffered. Lines that repeat are folded, but for those of log_info(),
 * each of which answers somebody; a flood is rationed; what was left out is counted and said.
 * One log per process.
 */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include <stdbool.h>
#include <stdnoreturn.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* `ident` names the program ("ss-local") and must stay valid. Debug lines appear if verbose.
 * Also reads the time zone, and ignores SIGPIPE: the stream may be a pipe nobody reads. */
void log_open(const char *ident, bool use_syslog, bool verbose);

/* printf-like; one line, no newline at the end. Control characters and bytes that are not UTF-8
 * are replaced by '?', so that a peer cannot forge a line. errno is kept. */
__attribute__((format(printf, 1, 2))) void log_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_warn(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_info(const char *format, ...);
__attribute__((format(printf, 1, 2))) void log_debug(const char *format, ...);

/* True if debug lines are wanted: to skip work that only a debug line needs. */
bool log_verbose(void);

/* As log_warn, for lines caused by network peers: rationed per kind. `kind` is a small number
 * below 16; lines of one kind beyond the ration (10 a minute), or beyond what all peers together
 * may cause (20 a second, 300 a minute), are counted and summed up in one line later. */
__attribute__((format(printf, 2, 3))) void log_peer(unsigned kind, const char *format, ...);

/* "failed to handshake with <ip>: <reason>", the line that fail2ban reads: never folded, at most
 * 10 per address and minute, within the same bounds for all peers; the rest is summed up. */
void log_handshake(const char *ip, const char *reason);

/* Write what is due of the summaries; to be called about once a second. `now` in ms, on a clock
 * that never steps: the log knows the time from here only, apart from the stamps of lines. */
void log_flush(unsigned long long now);

/* Write all that is still held back; at the end of the program. Lines may follow. */
void log_close(void);

/* Before the reactor runs: one sentence to the error stream, and to syslog if that is where the
 * log goes; then exit(255). */
__attribute__((format(printf, 1, 2))) noreturn void die(const char *format, ...);

#endif
