/*
 * Reserved memory on Linux. Without MAP_NORESERVE the kernel's default accounting may refuse what
 * is never going to be touched. Huge pages, where the system hands them out unasked, would make
 * 2 MB of the first byte and be torn apart again by the first block given back.
 */
#include "core/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void *pages_reserve(size_t n)
{
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	madvise(at, n, MADV_NOHUGEPAGE); /* fails where there are none: as well */
	return at;
}

void pages_release(void *at, size_t n)
{
	munmap(at, n);
}

bool pages_drop(void *at, size_t n)
{
	size_t page = (size_t)getpagesize();

	return ((uintptr_t)at | n) % page == 0 && madvise(at, n, MADV_DONTNEED) == 0;
}

#ifndef MADV_WIPEONFORK /* Linux 4.14 */
#define MADV_WIPEONFORK 18
#endif

bool pages_hide_from_children(void *at, size_t n)
{
	return madvise(at, n, MADV_WIPEONFORK) == 0;
}
