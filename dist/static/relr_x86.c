/*
 * The way into a static executable whose relative relocations are packed (DT_RELR): musl applies
 * them itself from 1.2.4 on, and the distribution's is older. Ours are nearly all of that kind,
 * three quarters of what is left of them in the file otherwise. Entered by the kernel; goes on to
 * musl's own beginning. Linked in place of `_start` for x86-64 (Makefile).
 *
 * Nothing is relocated yet: no global data may be touched that holds an address, nothing called.
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#ifndef DT_RELR
#define DT_RELRSZ 35
#define DT_RELR 36
#endif

__asm__(".text\n"
	".globl relr_start\n"
	".hidden relr_start\n"
	".type relr_start, @function\n"
	"relr_start:\n"
	"	lea _DYNAMIC(%rip), %rdi\n"
	"	lea __ehdr_start(%rip), %rsi\n"
	"	call relr_apply\n" /* the kernel has aligned the stack for a call */
	"	jmp _start\n");

__attribute__((visibility("hidden"))) void relr_apply(Elf64_Dyn *dynamic, uintptr_t base);

/* An even entry is the place of an address; an odd one has a bit for each of the 63 words that
 * follow the last. */
void relr_apply(Elf64_Dyn *dynamic, uintptr_t base)
{
	const uint64_t *entry = NULL;
	uint64_t *at = NULL, bytes = 0;

	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_RELR)
			entry = (const uint64_t *)(base + dynamic->d_un.d_ptr);
		if (dynamic->d_tag == DT_RELRSZ) {
			bytes = dynamic->d_un.d_val;
			dynamic->d_un.d_val = 0; /* a newer musl would add the base once more */
		}
	}
	for (; bytes >= sizeof *entry; bytes -= sizeof *entry, entry++) {
		if (!(*entry & 1)) {
			at = (uint64_t *)(base + *entry);
			*at++ += base;
			continue;
		}
		for (unsigned i = 0; i < 63; i++)
			if (*entry >> (i + 1) & 1)
				at[i] += base;
		at += 63;
	}
}
