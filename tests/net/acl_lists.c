/*
 * Published lists: every rule is understood, and names and addresses get the verdict that a plain
 * loop over all rules gives. Needs the shared lists: ../shared, or where SS_SHARED says.
 * ACL_NAMES=100000 asks for more names than in every run, ACL_LIST for one list only.
 */
#include "tests/unit.h"

#include "tests/net/acl_reference.h"

static const char *const lists[] = {
	"acl4ssr-banAD.acl",	      "libev-chn.acl",
	"libev-gfwlist.acl",	      "libev-local.acl",
	"libev-server_block_chn.acl", "libev-server_block_local.acl",
	"natescarlet-gfwlist.acl",
};

static unsigned names_wanted(void)
{
	const char *text = getenv("ACL_NAMES");
	return text ? (unsigned)atoi(text) : 150;
}

/* The line that decides, as the plain loop finds it. */
static void compare_name(const struct acl *acl, const struct reference *r, const char *name)
{
	struct endpoint target = { .type = ENDPOINT_NAME, .len = (uint8_t)strlen(name) };
	unsigned line, black = reference_name(r, 0, name);
	unsigned expected = black ? black : reference_name(r, 1, name);

	memcpy(target.host, name, target.len);
	endpoint_normalise(&target);
	if (target.type != ENDPOINT_NAME)
		return;
	if (acl_target(acl, &target, NULL, &line) == ACL_BY_ADDRESS)
		line = 0;
	if (line != expected)
		fail_msg("%s: line %u, not %u", name, line, expected);
}

static void compare_address(const struct acl *acl, const struct reference *r,
			    const struct address *address)
{
	struct endpoint target;
	char text[ENDPOINT_TEXT];
	bool black = reference_address(r, 0, address), white = reference_address(r, 1, address);
	static const struct address nowhere[] = { { .family = 4 }, { .family = 6 } };
	bool direct = black || (!white && r->white_mode);

	/* these stand for others, see tests/net/acl.c */
	if (memcmp(address, &nowhere[address->family == 6], sizeof(*address)) == 0)
		return;
	endpoint_from_address(&target, address, 1);
	if (acl_target(acl, &target, NULL, NULL) != (direct ? ACL_DIRECT : ACL_PROXY) ||
	    acl_client(acl, address, NULL) != (direct ? ACL_REFUSE : ACL_ALLOW) ||
	    acl_outbound(acl, &target, NULL, NULL) !=
		    (reference_address(r, 2, address) ? ACL_REFUSE : ACL_ALLOW))
		fail_msg("%s", endpoint_print(&target, text, sizeof(text)));
}

static void compare(const char *path)
{
	struct reference reference;
	char reason[ACL_REASON_MAX], name[256];
	struct acl *acl = acl_open(path, reason);
	struct address address;
	int wrong = reference_open(&reference, path);

	if (acl == NULL)
		fail_msg("%s", reason);
	if (wrong)
		fail_msg("%s:%d: regcomp() does not take it", path, wrong);
	assert_int_equal(acl_count(acl).inactive, 0);
	for (unsigned i = 0; i < names_wanted(); i++) {
		reference_make_name(&reference, name);
		compare_name(acl, &reference, name);
	}
	for (unsigned i = 0; i < 2000; i++) {
		reference_make_address(&reference, &address);
		compare_address(acl, &reference, &address);
	}
	acl_close(acl);
	reference_close(&reference);
}

static void published(void **state)
{
	char directory[300], path[400];

	(void)state;
	if (reference_lists(directory, sizeof(directory)) == NULL) {
		print_message("SKIPPED published: no lists in ../shared/data/acl; SS_SHARED\n");
		skip();
	}
	for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (getenv("ACL_LIST") && strcmp(getenv("ACL_LIST"), lists[i]) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, lists[i]);
		compare(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(published) };

	return cmocka_run_group_tests_name("acl_lists", tests, NULL, NULL);
}
