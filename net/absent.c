/*
 * What stands in for parts of this folder that a build was made without (dist/without.mk). Weak:
 * where the part is there, its own functions win. The settings have refused what would need it, so
 * that most of these are never called; what might be let through by mistake is refused here.
 */
#include "net/acl.h"
#include "net/guise.h"
#include "net/origdst.h"
#include "net/plugin.h"
#include "net/splice.h"
#include "net/wire.h"

#include <errno.h>
#include <stdio.h>

#define WEAK __attribute__((weak))

static int refuse(void)
{
	errno = ENOSYS;
	return -1;
}

/* stream */

WEAK const struct wire_format wire_stream = { .forgeable = true };

WEAK size_t wire_lease_size(const struct wire_key *key)
{
	(void)key;
	return 0;
}

WEAK void wire_stream_return(struct wire_state *state)
{
	(void)state;
}

/* acl */

WEAK struct acl *acl_open_telling(const char *path, void (*tell)(const char *sentence),
				  char reason[ACL_REASON_MAX])
{
	(void)path, (void)tell;
	snprintf(reason, ACL_REASON_MAX, "access control lists are not in this build");
	return NULL;
}

WEAK void acl_close(struct acl *acl)
{
	(void)acl;
}

WEAK struct acl_counts acl_count(const struct acl *acl)
{
	(void)acl;
	return (struct acl_counts){ 0 };
}

WEAK enum acl_verdict acl_target(const struct acl *acl, const struct endpoint *target,
				 const struct address *resolved, unsigned *line)
{
	(void)acl, (void)target, (void)resolved, (void)line;
	return ACL_PROXY;
}

WEAK enum acl_verdict acl_outbound(const struct acl *acl, const struct endpoint *target,
				   const struct address *resolved, unsigned *line)
{
	(void)acl, (void)target, (void)resolved, (void)line;
	return ACL_REFUSE;
}

WEAK enum acl_verdict acl_client(const struct acl *acl, const struct address *client,
				 unsigned *line)
{
	(void)acl, (void)client, (void)line;
	return ACL_REFUSE;
}

WEAK void splice_open(struct splice_pipe *splice)
{
	splice->in = splice->out = -1;
}

WEAK void splice_close(struct splice_pipe *splice)
{
	splice->in = splice->out = -1;
}

WEAK ssize_t splice_in(const struct splice_pipe *splice, int from, size_t n)
{
	(void)splice, (void)from, (void)n;
	return refuse();
}

WEAK ssize_t splice_out(const struct splice_pipe *splice, int to, size_t n)
{
	(void)splice, (void)to, (void)n;
	return refuse();
}

/* plugin */

WEAK int plugin_open(struct plugin *plugin)
{
	(void)plugin;
	return refuse();
}

WEAK int plugin_start(struct plugin *plugin)
{
	plugin->state = PLUGIN_FAILED;
	snprintf(plugin->why, sizeof plugin->why, "plugins are not in this build");
	return -1;
}

/* redir */

WEAK int guises_open(struct guises *guises, unsigned mark)
{
	(void)guises, (void)mark;
	return refuse();
}

WEAK void guises_close(struct guises *guises)
{
	(void)guises;
}

WEAK int guise_take(struct guises *guises, const struct endpoint *source, const union inet *client,
		    union inet *to)
{
	(void)guises, (void)source, (void)client, (void)to;
	return refuse();
}

WEAK void guises_rest(struct guises *guises, uint64_t now)
{
	(void)guises, (void)now;
}

WEAK void guises_drop(struct guises *guises)
{
	(void)guises;
}

WEAK int origdst_allow(int fd, int family, bool both)
{
	(void)fd, (void)family, (void)both;
	return refuse();
}

WEAK int origdst_tell(int fd, int family, bool both)
{
	(void)fd, (void)family, (void)both;
	return refuse();
}
