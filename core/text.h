/*
 * Text from outside made fit for a line of the log: UTF-8 without control characters.
 */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

/* Replace, in place, by '?' each control character (also DEL and U+0080 to U+009F, which some
 * terminals obey) and each byte that is not part of a well-formed UTF-8 character. */
void text_make_printable(char *text);

#endif
