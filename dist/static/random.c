/*
 * rand() for c-ares, linked into static executables: where it reads no file (ares_config.h), or
 * /dev/urandom is missing (an empty root), it draws its query ids from an unseeded rand(), the same
 * ones in every run.
 */
#include <sodium.h>
#include <stdlib.h>

int rand(void)
{
	return (int)(randombytes_random() & RAND_MAX);
}

void srand(unsigned seed)
{
	(void)seed;
}
