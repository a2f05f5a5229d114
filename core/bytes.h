/*
 * Integers as they lie in packets and cipher blocks: byte by byte, so that neither alignment
 * nor byte order of the machine matters. Compilers make single instructions of these.
 */
#ifndef CORE_BYTES_H
#define CORE_BYTES_H

#include <stdint.h>

static inline uint16_t get_u16be(const unsigned char *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline void put_u16be(unsigned char *p, uint16_t v)
{
	p[0] = (unsigned char)(v >> 8);
	p[1] = (unsigned char)v;
}

static inline uint32_t get_u32be(const unsigned char *p)
{
	return (uint32_t)get_u16be(p) << 16 | get_u16be(p + 2);
}

static inline void put_u32be(unsigned char *p, uint32_t v)
{
	put_u16be(p, (uint16_t)(v >> 16));
	put_u16be(p + 2, (uint16_t)v);
}

static inline uint64_t get_u64be(const unsigned char *p)
{
	return (uint64_t)get_u32be(p) << 32 | get_u32be(p + 4);
}

static inline void put_u64be(unsigned char *p, uint64_t v)
{
	put_u32be(p, (uint32_t)(v >> 32));
	put_u32be(p + 4, (uint32_t)v);
}

static inline uint32_t get_u32le(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void put_u32le(unsigned char *p, uint32_t v)
{
	p[0] = (unsigned char)v;
	p[1] = (unsigned char)(v >> 8);
	p[2] = (unsigned char)(v >> 16);
	p[3] = (unsigned char)(v >> 24);
}

static inline uint64_t get_u64le(const unsigned char *p)
{
	return get_u32le(p) | (uint64_t)get_u32le(p + 4) << 32;
}

static inline void put_u64le(unsigned char *p, uint64_t v)
{
	put_u32le(p, (uint32_t)v);
	put_u32le(p + 4, (uint32_t)(v >> 32));
}

#endif
