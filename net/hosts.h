/*
 * The text of a hosts file and an index of its names: so that 50,000 lines cost a look-up no more
 * than five. No I/O: the owner reads the file into hosts.text, again whenever it changed.
 */
#ifndef NET_HOSTS_H
#define NET_HOSTS_H

#include "net/endpoint.h"

enum {
	HOSTS_TEXT = 16 << 20, /* bytes of the file; what is longer is cut */
	HOSTS_NAMES = 393216   /* further names are left out */
};

struct hosts_slot;

struct hosts {
	char *text;
	struct hosts_slot *slots;
	uint32_t mask;	   /* slots in use, less one */
	uint32_t left_out; /* names for which there was no room */
};

/* Reserve address space for the largest file; memory is spent as it is used. 0, or -1 with
 * errno. */
int hosts_open(struct hosts *hosts);
void hosts_close(struct hosts *hosts);

/* Index the n bytes of hosts->text, which are changed: letters become lower case. */
void hosts_index(struct hosts *hosts, size_t n);

/* The addresses of a name (lower case, no final dot), in the order of the file: how many. */
unsigned hosts_find(const struct hosts *hosts, const char *name, struct address *to, unsigned max);

#endif
