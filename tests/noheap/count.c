/*
 * A counting allocator: preloaded into a program, it passes every call on to glibc and counts it in a
 * file that the test has mapped ($NOHEAP_COUNTERS). tests/noheap/run.py starts the programs with
 * it and wants the counters to stand still while connections come and go. For 64-bit glibc.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The order is that of COUNTERS in run.py. */
enum call { MALLOC, CALLOC, REALLOC, ALIGNED, FREE, MMAP, MREMAP, SBRK, CALLS };

/* glibc's own, under the names it keeps for such wrappers. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);
extern void *__sbrk(intptr_t by);

static uint64_t early[CALLS]; /* until the file is mapped */
static uint64_t *counters = early;

static void count(enum call call)
{
	__atomic_add_fetch(&counters[call], 1, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void map_counters(void)
{
	const char *path = getenv("NOHEAP_COUNTERS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *mapped;

	if (fd < 0)
		abort(); /* a count that nobody can read would look like success */
	mapped = (void *)syscall(SYS_mmap, NULL, sizeof(early), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		abort();
	close(fd);
	counters = mapped;
	for (int i = 0; i < CALLS; i++)
		counters[i] += early[i];
}

void *malloc(size_t size)
{
	count(MALLOC);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	count(CALLOC);
	return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
	count(REALLOC);
	return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size)
{
	count(ALIGNED);
	return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	void *taken = memalign(alignment, size);

	if (!taken)
		return ENOMEM;
	*block = taken;
	return 0;
}

void free(void *block)
{
	if (block)
		count(FREE);
	__libc_free(block);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	count(MMAP);
	return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	return mmap(address, size, protection, flags, fd, offset);
}

void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
	count(MREMAP);
	return (void *)syscall(SYS_mremap, old, old_size, size, flags, NULL);
}

void *sbrk(intptr_t by)
{
	count(SBRK);
	return __sbrk(by);
}
