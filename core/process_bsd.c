/*
 * What the BSDs and macOS have instead of core/process_linux.c.
 */
#include "core/process.h"

/* There is no such promise; programs we start are the user's choice. */
void process_no_new_privs(void)
{
}

/* RLIMIT_CORE is enough here: dumps go nowhere but into files. */
void process_no_dumps(void)
{
}

/* Sockets are not marked here, so there is nothing to keep. */
bool process_may_mark(void)
{
	return false;
}

void process_rights_hold(void)
{
}

void process_rights_reduce(bool marking, bool ports)
{
	(void)marking, (void)ports;
}

void process_lend_ports(void)
{
}

void process_lend_marking(void)
{
}

void process_close_range(unsigned first, unsigned last)
{
	process_close_each(first, last);
}

/* There is no common call for it: core/guard.h has to do. */
void process_end_with(pid_t parent)
{
	(void)parent;
}
