/*
 * See window.h. The bits lie in a ring of words; moving on clears what the ring is used again for.
 */
#include "net/window.h"

#include <string.h>

static uint64_t *word_of(struct window *window, uint64_t number)
{
	return &window->seen[number / 64 % WINDOW_WORDS];
}

static uint64_t bit_of(uint64_t number)
{
	return UINT64_C(1) << number % 64;
}

bool window_fresh(const struct window *window, uint64_t number)
{
	if (number > window->newest)
		return true;
	if (window->newest - number >= WINDOW_SIZE)
		return false;
	return !(window->seen[number / 64 % WINDOW_WORDS] & bit_of(number));
}

/* Forget the numbers from newest + 1 - WINDOW_SIZE to number - WINDOW_SIZE. */
static void move_on(struct window *window, uint64_t number)
{
	if (number - window->newest >= WINDOW_SIZE)
		memset(window->seen, 0, sizeof window->seen);
	else
		for (uint64_t n = window->newest + 1; n != number + 1; n++)
			*word_of(window, n) &= ~bit_of(n);
	window->newest = number;
}

void window_take(struct window *window, uint64_t number)
{
	if (number > window->newest)
		move_on(window, number);
	*word_of(window, number) |= bit_of(number);
}
