/*
 * printf() without floating-point numbers. Bytes gather in a block on the stack, because a stream
 * may have no buffer (stderr) and would make a system call of each piece.
 */
#include "core/format.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* %zu and %td are read as %lu and %ld */
_Static_assert(sizeof(size_t) == sizeof(long) && sizeof(ptrdiff_t) == sizeof(long),
	       "size_t is as a long");

struct output {
	FILE *to;
	bool failed;
	size_t written;
	unsigned used;
	char bytes[256];
};

struct directive {
	bool left, zero, plus, space, other; /* - 0 + ' ' # */
	int width, precision;		     /* precision -1: none */
	int length;			     /* h: -1, hh: -2, l: 1, ll: 2 */
};

/* a va_list may be an array, which no function can take the address of */
struct values {
	va_list list;
};

static void flush(struct output *out)
{
	if (fwrite(out->bytes, 1, out->used, out->to) != out->used)
		out->failed = true;
	out->written += out->used;
	out->used = 0;
}

static void put(struct output *out, const char *text, size_t n)
{
	while (n > 0) {
		size_t part = sizeof(out->bytes) - out->used;
		if (part > n)
			part = n;
		memcpy(out->bytes + out->used, text, part);
		out->used += part;
		text += part;
		n -= part;
		if (out->used == sizeof(out->bytes))
			flush(out);
	}
}

static void fill(struct output *out, char with, int n)
{
	for (; n > 0; n--)
		put(out, &with, 1);
}

static bool flag(struct directive *d, char c)
{
	switch (c) {
	case '-':
		return d->left = true;
	case '0':
		return d->zero = true;
	case '+':
		return d->plus = true;
	case ' ':
		return d->space = true;
	case '#':
		return d->other = true;
	default:
		return false;
	}
}

/* A number, or a * for a value. Formats are our own: none has a number too large for an int. */
static const char *number(const char *at, int *n, struct values *values)
{
	*n = 0;
	if (*at == '*') {
		*n = va_arg(values->list, int);
		return at + 1;
	}
	for (; *at >= '0' && *at <= '9'; at++)
		*n = *n * 10 + *at - '0';
	return at;
}

static const char *read_directive(const char *at, struct directive *d, struct values *values)
{
	*d = (struct directive){ .precision = -1 };
	while (flag(d, *at))
		at++;
	at = number(at, &d->width, values);
	if (d->width < 0) {
		d->left = true;
		d->width = -d->width;
	}
	if (*at == '.')
		at = number(at + 1, &d->precision, values);
	for (;; at++) {
		if (*at == 'h')
			d->length--;
		else if (*at == 'l' || *at == 'z' || *at == 't')
			d->length++;
		else if (*at == 'j')
			d->length = 2;
		else
			return at;
	}
}

static uintmax_t unsigned_value(const struct directive *d, struct values *values)
{
	switch (d->length) {
	case -2:
		return (unsigned char)va_arg(values->list, unsigned);
	case -1:
		return (unsigned short)va_arg(values->list, unsigned);
	case 0:
		return va_arg(values->list, unsigned);
	case 1:
		return va_arg(values->list, unsigned long);
	default:
		return va_arg(values->list, unsigned long long);
	}
}

static intmax_t signed_value(const struct directive *d, struct values *values)
{
	switch (d->length) {
	case -2:
		return (signed char)va_arg(values->list, int);
	case -1:
		return (short)va_arg(values->list, int);
	case 0:
		return va_arg(values->list, int);
	case 1:
		return va_arg(values->list, long);
	default:
		return va_arg(values->list, long long);
	}
}

static void put_text(struct output *out, const struct directive *d, const char *text, size_t n)
{
	int rest = n < (size_t)d->width ? d->width - (int)n : 0;

	if (!d->left)
		fill(out, ' ', rest);
	put(out, text, n);
	if (d->left)
		fill(out, ' ', rest);
}

/* `sign`: what precedes the digits and the zeros */
static void put_number(struct output *out, struct directive *d, const char *sign, uintmax_t value,
		       unsigned base, const char *digits)
{
	char text[sizeof(value) * CHAR_BIT / 3 + 1];
	char *end = text + sizeof(text), *p = end;

	for (; value > 0; value /= base)
		*--p = digits[value % base];
	int n = (int)(end - p), signs = (int)strlen(sign);
	int zeros = (d->precision < 0 ? 1 : d->precision) - n;
	if (base == 8 && d->other && zeros < 1)
		zeros = 1;
	if (zeros < 0)
		zeros = 0;
	int rest = d->width - signs - zeros - n;
	if (d->zero && !d->left && d->precision < 0 && rest > 0) {
		zeros += rest;
		rest = 0;
	}
	if (!d->left)
		fill(out, ' ', rest);
	put(out, sign, signs);
	fill(out, '0', zeros);
	put(out, p, n);
	if (d->left)
		fill(out, ' ', rest);
}

static void put_signed(struct output *out, struct directive *d, intmax_t value)
{
	const char *sign = value < 0 ? "-" : d->plus ? "+" : d->space ? " " : "";

	put_number(out, d, sign, value < 0 ? -(uintmax_t)value : (uintmax_t)value, 10,
		   "0123456789");
}

static void put_unsigned(struct output *out, struct directive *d, char kind, uintmax_t value)
{
	const char *sign = "";

	if (d->other && value > 0)
		sign = kind == 'x' ? "0x" : kind == 'X' ? "0X" : "";
	put_number(out, d, sign, value,
		   kind == 'u'	 ? 10
		   : kind == 'o' ? 8
				 : 16,
		   kind == 'X' ? "0123456789ABCDEF" : "0123456789abcdef");
}

/* false: not one of ours */
static bool put_directive(struct output *out, struct directive *d, char kind, struct values *values)
{
	const char *text;
	char c;

	if ((kind == 'c' || kind == 's') && d->length != 0)
		return false;
	switch (kind) {
	case 'd':
	case 'i':
		put_signed(out, d, signed_value(d, values));
		return true;
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		put_unsigned(out, d, kind, unsigned_value(d, values));
		return true;
	case 'p':
		d->other = true;
		put_unsigned(out, d, 'x', (uintptr_t)va_arg(values->list, void *));
		return true;
	case 'c':
		c = (char)va_arg(values->list, int);
		put_text(out, d, &c, 1);
		return true;
	case 's':
		text = va_arg(values->list, const char *);
		text = text ? text : "(null)";
		put_text(out, d, text,
			 d->precision < 0 ? strlen(text) : strnlen(text, d->precision));
		return true;
	case '%':
		put(out, "%", 1);
		return true;
	default:
		return false;
	}
}

int format_write(FILE *to, const char *format, va_list list)
{
	struct output out = { .to = to };
	struct directive d;
	struct values values;
	bool known = true;

	va_copy(values.list, list);
	while (known && *format) {
		size_t n = strcspn(format, "%");
		put(&out, format, n);
		format += n;
		if (*format == '%') {
			format = read_directive(format + 1, &d, &values);
			known = put_directive(&out, &d, *format, &values);
			format++;
		}
	}
	va_end(values.list);
	flush(&out);
	if (!known)
		errno = EINVAL;
	else if (out.written > INT_MAX)
		errno = EOVERFLOW;
	else if (!out.failed)
		return (int)out.written;
	return -1;
}
