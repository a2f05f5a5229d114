/* A peer that knows the key (see script.h); what was opened is then read as an address header, so that
 * the parser behind the cipher is reached. */
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned char secret[WIRE_KEY_MAX] = "not so secret";
	static struct script s;
	struct endpoint endpoint;

	assert(crypto_open() == 0);
	script_start(&s, data, size);
	assert(wire_key_set(&s.key, wire_list(script_next(&s) % 5), secret) == 0);
	s.wire_n = wire_first(&s.key, &s.seal, NULL, secret, 1, s.wire);
	script_expect(&s, secret, 1);
	script_run(&s);
	endpoint_read(&endpoint, s.got + 1, s.got_n > 0 ? s.got_n - 1 : 0);
	return 0;
}
