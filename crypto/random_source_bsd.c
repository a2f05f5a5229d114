/*
 * See random.h. On the BSDs and macOS arc4random() always answers.
 */
#include "crypto/random.h"

enum random_source random_source(void)
{
	return RANDOM_READY;
}
