/*
 * In the place of musl's, which look into the stream's buffer. Linked into static executables.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST = 128 /* bytes, doubled when they do not do */ };

ssize_t getdelim(char **line, size_t *room, int end, FILE *from)
{
	size_t n = 0;
	int byte = 0;

	if (!line || !room) {
		errno = EINVAL;
		return -1;
	}
	if (!*line)
		*room = 0;
	while (byte != end || n == 0) {
		if (n + 2 > *room) {
			size_t more = *room < FIRST ? FIRST : 2 * *room;
			char *larger = realloc(*line, more);

			if (!larger)
				return -1;
			*line = larger;
			*room = more;
		}
		byte = getc(from);
		if (byte == EOF)
			break;
		(*line)[n++] = (char)byte;
	}
	(*line)[n] = '\0';
	/* a piece of a line is none */
	return n > 0 && (byte != EOF || feof(from)) ? (ssize_t)n : -1;
}

ssize_t getline(char **line, size_t *room, FILE *from)
{
	return getdelim(line, room, '\n', from);
}
