/*
 * cpu_x86.c without wide AES: linked in its place into ss-aesni, with which the benchmark measures what a CPU
 * would do that has AES-NI alone.
 */
#define cpu_has_vaes256 this_cpu_has_vaes256
#define cpu_has_vaes512 this_cpu_has_vaes512
#include "crypto/cpu_x86.c"
#undef cpu_has_vaes256
#undef cpu_has_vaes512

bool cpu_has_vaes256(void)
{
	return false;
}

bool cpu_has_vaes512(void)
{
	return false;
}
