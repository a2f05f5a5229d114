/*
 * What only relocation writes, tables of functions and texts above all, is read-only from then on
 * (PT_GNU_RELRO): a dynamic linker sees to it, musl's beginning of a static executable does not.
 * Linked into those alone (Makefile), and run before main().
 */
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"))); /* the linker's */

__attribute__((constructor)) static void protect_relocated(void)
{
	static const char failed[] = "relocated data cannot be made read-only\n";
	const uintptr_t file = (uintptr_t)&__ehdr_start, page = getauxval(AT_PAGESZ);
	const ElfW(Phdr) *part = (const void *)(file + __ehdr_start.e_phoff);

	for (unsigned n = __ehdr_start.e_phnum; n > 0; n--, part++) {
		if (part->p_type != PT_GNU_RELRO)
			continue;
		uintptr_t from = part->p_vaddr + (__ehdr_start.e_type == ET_DYN ? file : 0);
		uintptr_t to = (from + part->p_memsz) & -page;

		from &= -page;
		if (to > from && mprotect((void *)from, to - from, PROT_READ) < 0)
			_exit(write(2, failed, sizeof failed - 1) < 0 ? 126 : 127);
	}
}
