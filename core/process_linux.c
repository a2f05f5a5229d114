/*
 * What Linux alone has of core/process.h.
 */
#include "core/process.h"

#include "core/log.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void process_no_new_privs(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		log_warn("no_new_privs is not available here (%s): going on without",
			 strerror(errno));
}

void process_no_dumps(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* --- capabilities, by the system calls: there is no need for another library */

struct rights {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static struct rights no_rights(void)
{
	return (struct rights){ .header.version = _LINUX_CAPABILITY_VERSION_3 };
}

static const unsigned right_to_mark = 1u << CAP_NET_ADMIN;
static const unsigned right_to_ports = 1u << CAP_NET_BIND_SERVICE;

bool process_may_mark(void)
{
	struct rights have = no_rights();

	return syscall(SYS_capget, &have.header, have.data) == 0 &&
	       (have.data[0].effective & right_to_mark);
}

void process_rights_hold(void)
{
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		die("cannot keep rights of root: %s", strerror(errno));
}

/* Ids have changed, which took what was effective, but left what is permitted. */
void process_rights_reduce(bool marking, bool ports)
{
	struct rights have = no_rights(), want = no_rights();

	if (syscall(SYS_capget, &have.header, have.data) < 0)
		die("cannot tell which rights are left: %s", strerror(errno));
	want.data[0].effective = have.data[0].permitted & (marking ? right_to_mark : 0);
	want.data[0].permitted =
		want.data[0].effective | (have.data[0].permitted & (ports ? right_to_ports : 0));
	if (syscall(SYS_capset, &want.header, want.data) < 0 ||
	    prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) < 0)
		die("cannot give up the rights of root: %s", strerror(errno));
}

/* Who has not got the right cannot lend it: then whoever needs it will say so. */
static void lend(unsigned capability)
{
	struct rights have = no_rights();

	if (syscall(SYS_capget, &have.header, have.data) < 0)
		return;
	have.data[0].inheritable |= have.data[0].permitted & (1u << capability);
	if (syscall(SYS_capset, &have.header, have.data) == 0)
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
}

void process_lend_ports(void)
{
	lend(CAP_NET_BIND_SERVICE);
}

void process_lend_marking(void)
{
	lend(CAP_NET_ADMIN);
}

/* Of those that are open: where a billion may be, to try all takes minutes. False: nobody tells. */
static bool close_listed(unsigned first, unsigned last)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir)
		return false;
	while ((entry = readdir(dir))) {
		unsigned fd = (unsigned)strtoul(entry->d_name, NULL, 10);

		if (fd >= first && fd <= last && (int)fd != dirfd(dir))
			close((int)fd);
	}
	closedir(dir);
	return true;
}

/* One call where the kernel has it (5.9), and lets us. */
void process_close_range(unsigned first, unsigned last)
{
	enum { CLOSE_RANGE = 436 }; /* the same number everywhere; older headers lack it */

	if (syscall(CLOSE_RANGE, first, last, 0) < 0 && !close_listed(first, last))
		process_close_each(first, last);
}

void process_end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent) /* it ended before we asked */
		_exit(0);
}
