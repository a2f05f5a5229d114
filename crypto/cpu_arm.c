#include "crypto/cpu_arm.h"

#ifdef __APPLE__

/* every one of theirs has */
bool cpu_has_aes(void)
{
	return true;
}

#else

#include <sys/auxv.h>

#ifdef __linux__
static unsigned long hardware(void)
{
	return getauxval(AT_HWCAP);
}
#else
static unsigned long hardware(void)
{
	unsigned long bits = 0;

	return elf_aux_info(AT_HWCAP, &bits, sizeof bits) == 0 ? bits : 0;
}
#endif

bool cpu_has_aes(void)
{
	enum { AES = 1 << 3, PMULL = 1 << 4 }; /* HWCAP_AES, HWCAP_PMULL */

	return (hardware() & (AES | PMULL)) == (AES | PMULL);
}

#endif
