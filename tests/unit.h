/*
 * What every unit test includes: cmocka and the headers it wants to see first.
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* It is in stdint.h; cmocka.h would guess it, wrongly for some machines. */
#define _UINTPTR_T 1
#include <cmocka.h>

/* Linux's own files are linked; with a kqueue of the tests' own it is those for other systems. */
#ifdef __linux__
int kqueue(void) __attribute__((weak));
#define ON_LINUX (!kqueue)
#else
#define ON_LINUX false
#endif

#endif
