/*
 * What the rules make of a target, of a name's addresses, and of a client.
 */
#include "net/route.h"

#include "core/log.h"
#include "net/service.h"

#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct role server_role = { .name = "server", .near_sealed = true };
static const struct role client_role = { .name = "client" };
static struct service service;
static struct acl *rules;

static void with_rules(const struct role *role, const char *text)
{
	char reason[ACL_REASON_MAX];

	acl_close(rules);
	rules = text ? acl_read("test", text, strlen(text), reason) : NULL;
	assert_true(!text || rules);
	service.role = role;
	service.rules = text ? &rules : NULL;
}

static struct endpoint target(const char *text)
{
	struct endpoint endpoint;

	assert_int_equal(endpoint_parse(&endpoint, text, 0), 0);
	return endpoint;
}

static struct address address(const char *text)
{
	struct endpoint endpoint = target(text);
	struct address to;

	assert_true(endpoint_address(&endpoint, &to));
	return to;
}

static enum acl_verdict at_once(const char *text)
{
	struct endpoint to = target(text);

	return route_target(&service, &to).verdict;
}

/* name.test has these addresses (none: it has no address). */
static struct route resolved(const char *a, const char *b, const char *c)
{
	const char *all[] = { a, b, c };
	struct answer answer = { .count = 0 };
	struct lookup lookup = { .status = RESOLVE_NOT_FOUND, .answer = &answer };
	struct endpoint name = target("name.test:80");

	for (unsigned i = 0; i < 3 && all[i]; i++) {
		answer.addresses[answer.count++] = address(all[i]);
		lookup.status = RESOLVE_OK;
	}
	return route_resolved(&service, &name, &lookup);
}

static void expect(struct route route, enum acl_verdict verdict, uint32_t skip)
{
	assert_int_equal(route.verdict, verdict);
	assert_int_equal(route.skip, skip);
}

static void test_without_rules(void **state)
{
	(void)state;
	with_rules(&client_role, NULL);
	assert_int_equal(at_once("name.test:80"), ACL_PROXY);
	assert_int_equal(at_once("192.0.2.1:80"), ACL_PROXY);
	with_rules(&server_role, NULL);
	assert_int_equal(at_once("name.test:80"), ACL_ALLOW);
	struct address client = address("192.0.2.1");
	assert_true(route_admits(&service, &client, false));
}

/* The first address decides; those that it does not hold for are left out. */
static void test_client(void **state)
{
	(void)state;
	with_rules(&client_role, "[proxy_all]\n[bypass_list]\n10.0.0.0/8\n^direct\\.test$\n");
	assert_int_equal(at_once("10.1.2.3:80"), ACL_DIRECT);
	assert_int_equal(at_once("192.0.2.1:80"), ACL_PROXY);
	assert_int_equal(at_once("direct.test:80"), ACL_DIRECT);
	assert_int_equal(at_once("name.test:80"), ACL_BY_ADDRESS);
	expect(resolved("10.0.0.1", NULL, NULL), ACL_DIRECT, 0);
	expect(resolved("10.0.0.1", "192.0.2.1", "10.0.0.2"), ACL_DIRECT, 2);
	assert_int_equal(resolved("192.0.2.1", "10.0.0.1", NULL).verdict, ACL_PROXY);
	expect(resolved(NULL, NULL, NULL), ACL_PROXY, 0);
	with_rules(&client_role, "[bypass_all]\n");
	assert_int_equal(at_once("name.test:80"), ACL_DIRECT);
}

/* Only allowed addresses are left; without one it is refused. */
static void test_server(void **state)
{
	(void)state;
	with_rules(&server_role, "[outbound_block_list]\n10.0.0.0/8\n^bad\\.test$\n");
	assert_int_equal(at_once("10.1.2.3:80"), ACL_REFUSE);
	assert_int_equal(at_once("BAD.test.:80"), ACL_REFUSE);
	assert_int_equal(at_once("192.0.2.1:80"), ACL_ALLOW);
	assert_int_equal(at_once("name.test:80"), ACL_BY_ADDRESS);
	expect(resolved("192.0.2.1", NULL, NULL), ACL_ALLOW, 0);
	expect(resolved("192.0.2.1", "10.0.0.1", "192.0.2.2"), ACL_ALLOW, 2);
	expect(resolved("10.0.0.1", "10.0.0.2", "192.0.2.2"), ACL_ALLOW, 3);
	assert_int_equal(resolved("10.0.0.1", "10.0.0.2", NULL).verdict, ACL_REFUSE);
	expect(resolved(NULL, NULL, NULL), ACL_ALLOW, 0);
}

/* A name without a dot is blocked as each that the search list of resolv.conf makes of it. */
static void test_search_list(void **state)
{
	char path[] = "/tmp/ss-route-XXXXXX";
	int fd = mkstemp(path);
	struct resolve_options names = { .hosts = "/dev/null", .resolv_conf = path };

	(void)state;
	dprintf(fd, "nameserver 127.0.0.1\nsearch one.test Two.test\n");
	close(fd);
	assert_int_equal(reactor_open(), 0);
	assert_int_equal(resolve_open(&names), 0);
	with_rules(&server_role, "[outbound_block_list]\n||two.test\n");
	assert_int_equal(at_once("db"), ACL_REFUSE);
	assert_int_equal(at_once("DB."), ACL_REFUSE);
	assert_int_equal(at_once("db.other"), ACL_ALLOW);
	with_rules(&server_role, "[outbound_block_all]\n[outbound_allow_list]\n|db\n");
	assert_int_equal(at_once("db"), ACL_ALLOW);
	assert_int_equal(at_once("dc"), ACL_REFUSE);
	with_rules(&server_role, "[outbound_block_list]\n||three.test\n10.0.0.0/8\n");
	assert_int_equal(at_once("db"), ACL_BY_ADDRESS);
	assert_int_equal(at_once("192.0.2.1"), ACL_ALLOW);
	with_rules(&client_role, "[bypass_list]\n||two.test\n");
	assert_int_equal(at_once("db"), ACL_PROXY);
	resolve_close();
	reactor_close();
	unlink(path);
}

static void test_whom_a_server_serves(void **state)
{
	struct address in = address("10.0.0.1"), out = address("192.0.2.1");

	(void)state;
	with_rules(&server_role, "[reject_all]\n[white_list]\n10.0.0.0/8\n");
	assert_true(route_admits(&service, &in, false));
	assert_false(route_admits(&service, &out, false));
	service.role = &client_role; /* to which that means something else */
	assert_true(route_admits(&service, &out, false));
	with_rules(&client_role, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_rules),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_server),
		cmocka_unit_test(test_search_list),
		cmocka_unit_test(test_whom_a_server_serves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
