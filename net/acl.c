/* See acl.h: what the rules that were found mean. */
#include "net/acl_rules.h"

#include "core/text.h"

#include <string.h>

enum {
	CLIENT_LISTS = 1 << ACL_BLACK | 1 << ACL_WHITE,
	OUTBOUND_LISTS = 1 << ACL_BLOCK | 1 << ACL_PASS
};

/* A target in the one form in which things are compared. */
struct subject {
	bool has_address;
	size_t n; /* of name; 0: the target is an address */
	struct address address;
	char name[ENDPOINT_NAME_MAX + ACL_GRAM];
};

static void subject_name(struct subject *subject, const struct endpoint *target)
{
	subject->n = target->len;
	for (size_t i = 0; i < subject->n; i++)
		subject->name[i] = text_lower(target->host[i]);
	if (subject->n > 1 && subject->name[subject->n - 1] == '.')
		subject->n--;
	memset(subject->name + subject->n, 0, ACL_GRAM);
}

static void subject_set(struct subject *subject, const struct endpoint *target,
			const struct address *resolved)
{
	struct endpoint normal = *target;

	subject->n = 0;
	endpoint_normalise(&normal);
	subject->has_address = endpoint_address(&normal, &subject->address);
	if (subject->has_address)
		return;
	subject_name(subject, &normal);
	subject->has_address = resolved != NULL;
	if (resolved)
		subject->address = *resolved;
}

/* 64:ff9b::192.0.2.1 (RFC 6052): where there is NAT64, what it leads to. */
static bool translate(struct address *address)
{
	static const unsigned char prefix[12] = { 0, 0x64, 0xff, 0x9b };
	unsigned char ip[4];

	if (address->family != 6 || memcmp(address->ip, prefix, sizeof(prefix)) != 0)
		return false;
	memcpy(ip, address->ip + sizeof(prefix), sizeof(ip));
	address_set(address, 4, ip);
	return true;
}

/* An address that leads elsewhere is looked up as what it becomes, too. */
static void find_address(const struct acl *acl, const struct address *address, unsigned lists,
			 struct acl_hits *hits)
{
	struct address normal;

	if (acl->net_count == 0)
		return;
	address_set(&normal, address->family, address->ip);
	acl_nets_find(acl, &normal, lists, hits);
	if (translate(&normal) || address_lead_home(&normal))
		acl_nets_find(acl, &normal, lists, hits);
}

static enum acl_verdict answer(enum acl_verdict verdict, unsigned rule, unsigned *line)
{
	if (line)
		*line = rule;
	return verdict;
}

/* The lists of clients and of where they go. */
static enum acl_verdict client_answer(const struct acl *acl, const struct acl_hits *hits,
				      unsigned *line)
{
	if (hits->line[ACL_BLACK])
		return answer(ACL_DIRECT, hits->line[ACL_BLACK], line);
	if (hits->line[ACL_WHITE])
		return answer(ACL_PROXY, hits->line[ACL_WHITE], line);
	return answer(acl->white_mode ? ACL_DIRECT : ACL_PROXY, 0, line);
}

enum acl_verdict acl_target(const struct acl *acl, const struct endpoint *target,
			    const struct address *resolved, unsigned *line)
{
	struct acl_hits hits = { { 0 } };
	struct subject subject;
	unsigned deciding = acl->white_mode ? ACL_WHITE : ACL_BLACK;

	subject_set(&subject, target, resolved);
	acl_names_find(acl, subject.name, subject.n, CLIENT_LISTS, &hits);
	if (hits.line[ACL_BLACK] || hits.line[ACL_WHITE])
		return client_answer(acl, &hits, line);
	if (!subject.has_address && acl->net_lists >> deciding & 1)
		return answer(ACL_BY_ADDRESS, 0, line);
	if (subject.has_address)
		find_address(acl, &subject.address, CLIENT_LISTS, &hits);
	return client_answer(acl, &hits, line);
}

enum acl_verdict acl_client(const struct acl *acl, const struct address *client, unsigned *line)
{
	struct acl_hits hits = { { 0 } };

	find_address(acl, client, CLIENT_LISTS, &hits);
	return client_answer(acl, &hits, line) == ACL_DIRECT ? ACL_REFUSE : ACL_ALLOW;
}

enum acl_verdict acl_outbound(const struct acl *acl, const struct endpoint *target,
			      const struct address *resolved, unsigned *line)
{
	struct acl_hits hits = { { 0 } };
	struct subject subject;
	unsigned deciding;

	subject_set(&subject, target, resolved);
	acl_names_find(acl, subject.name, subject.n, OUTBOUND_LISTS, &hits);
	/* Where nothing is refused unless it is on a list, the other list has nothing to say. */
	deciding = acl->block_all && !hits.line[ACL_PASS] ? OUTBOUND_LISTS : 1 << ACL_BLOCK;
	if (!hits.line[ACL_BLOCK] && !subject.has_address && acl->net_lists & deciding)
		return answer(ACL_BY_ADDRESS, 0, line);
	if (!hits.line[ACL_BLOCK] && subject.has_address)
		find_address(acl, &subject.address, OUTBOUND_LISTS, &hits);
	if (hits.line[ACL_BLOCK])
		return answer(ACL_REFUSE, hits.line[ACL_BLOCK], line);
	if (hits.line[ACL_PASS])
		return answer(ACL_ALLOW, hits.line[ACL_PASS], line);
	return answer(acl->block_all ? ACL_REFUSE : ACL_ALLOW, 0, line);
}

struct acl_counts acl_count(const struct acl *acl)
{
	return (struct acl_counts){ .names = acl->rule_count - acl->patterns,
				    .patterns = acl->patterns,
				    .networks = acl->net_count,
				    .inactive = acl->inactive,
				    .no_bytes = acl->no_bytes };
}
