/* A client's bytes, read as greeting, login, request and datagram: what is said to be used is there, and
 * an answer within the login lies within the bytes. */
#include "net/socks.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum socks_method method;
	enum socks_reply reply;
	struct socks_login login;
	struct endpoint target;
	unsigned command;

	assert(socks_read_greeting(data, size, SOCKS_NO_AUTH, &method) <= (int)size);
	assert(socks_read_request(data, size, &command, &target, &reply) <= (int)size);
	assert(socks_read_datagram(data, size, &target) <= (int)size);
	int n = socks_read_login(data, size, &login);
	assert(n <= (int)size);
	if (n > 0)
		assert(login.user + login.user_len < login.password &&
		       login.password + login.password_len == data + n);
	return 0;
}
