/*
 * Reserved memory on the BSDs and macOS, which do not account for memory before it is touched.
 */
#include "core/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void *pages_reserve(size_t n)
{
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void pages_release(void *at, size_t n)
{
	munmap(at, n);
}

bool pages_drop(void *at, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	/* There MADV_DONTNEED only says that it is not needed soon. */
	return ((uintptr_t)at | n) % page == 0 && madvise(at, n, MADV_FREE) == 0;
}

bool pages_hide_from_children(void *at, size_t n)
{
	(void)at, (void)n;
	return false;
}
