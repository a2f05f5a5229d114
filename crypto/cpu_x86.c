#include "crypto/cpu_x86.h"

#include <cpuid.h>
#include <stdint.h>

/* Bits of XCR0: registers that the operating system saves when it switches tasks. */
enum {
	XCR0_YMM = 1 << 1 | 1 << 2,
	XCR0_ZMM = XCR0_YMM | 1 << 5 | 1 << 6 | 1 << 7, /* masks, upper halves, registers 16-31 */
};

struct features {
	unsigned leaf1_c, leaf7_b, leaf7_c;
};

/* Once: under a hypervisor each question takes as long as thousands of other instructions, and
 * every key asks. */
static struct features ask(void)
{
	static struct features f;
	static bool asked;
	unsigned a, b, c, d;

	if (asked)
		return f;
	if (__get_cpuid(1, &a, &b, &c, &d))
		f.leaf1_c = c;
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
		f.leaf7_b = b;
		f.leaf7_c = c;
	}
	asked = true;
	return f;
}

static bool has_aesni(const struct features *f)
{
	unsigned need = bit_AES | bit_PCLMUL | bit_SSSE3 | bit_SSE4_1;

	return (f->leaf1_c & need) == need;
}

/* xgetbv may only be asked where OSXSAVE says so. */
static bool system_saves(const struct features *f, unsigned registers)
{
	unsigned low, high;

	if (!(f->leaf1_c & bit_OSXSAVE))
		return false;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (low & registers) == registers;
}

static bool has_vaes256(const struct features *f)
{
	unsigned need = bit_VAES | bit_VPCLMULQDQ;

	return has_aesni(f) && f->leaf1_c & bit_AVX && f->leaf7_b & bit_AVX2 &&
	       (f->leaf7_c & need) == need && system_saves(f, XCR0_YMM);
}

bool cpu_has_aesni(void)
{
	struct features f = ask();

	return has_aesni(&f);
}

bool cpu_has_vaes256(void)
{
	struct features f = ask();

	return has_vaes256(&f);
}

bool cpu_has_vaes512(void)
{
	struct features f = ask();
	unsigned need = bit_AVX512F | bit_AVX512BW | bit_AVX512VL;

	return has_vaes256(&f) && (f.leaf7_b & need) == need && system_saves(&f, XCR0_ZMM);
}

bool cpu_has_avx2(void)
{
	struct features f = ask();
	unsigned need = bit_AVX2 | bit_BMI2;

	return f.leaf1_c & bit_AVX && (f.leaf7_b & need) == need && system_saves(&f, XCR0_YMM);
}

bool cpu_has_sha(void)
{
	struct features f = ask();
	unsigned need = bit_SSSE3 | bit_SSE4_1;

	return (f.leaf1_c & need) == need && f.leaf7_b & bit_SHA;
}
