#pragma once
/*
 * Reads an open file line by line into memory of the caller, and parses numbers in the lines. Lines
 * in /proc can have any length: a path has no limit, and a line of groups can have 700,000 bytes.
 * A line that does not fit is cut, and its rest is skipped.
 *
 *   status               "VmRSS:\t    1234 kB"
 *   vmstat, cgroups      "oom_kill 3"
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_LINE_MAX 4096 /* memory for lines of which only the beginning matters */

struct proc_lines {
	int fd;
	int error;	   /* a negative errno of read(2); 0: none */
	bool ended;	   /* the file has no more bytes */
	bool skipping;	   /* the rest of a line that was cut */
	size_t at, length; /* position and length of the unread bytes in memory */
	size_t size;
	char *memory;
};

/* Begins to read the open file `fd`; the caller closes it. Lines of up to `size` - 1 bytes are not
 * cut. */
void proc_lines_begin(struct proc_lines *lines, int fd, char *memory, size_t size);
/* Returns the next line with a NUL in place of its newline, or NULL at the end or after an error.
 * The caller may change the line; it is valid until the next call. `ret_length` may be NULL. */
char *proc_lines_next(struct proc_lines *lines, size_t *ret_length);

/* Reads the digits at *at and moves *at behind them. In base 16, digits may have either case.
 * Returns false if there are no digits, or if the number does not fit. */
static inline bool proc_digits(const char **at, unsigned base, uint64_t *ret_number)
{
	const char *p = *at;
	uint64_t number = 0;

	for (;; p++) {
		unsigned digit = (unsigned char)*p - (unsigned)'0';

		if (digit > 9)
			digit = ((unsigned char)*p | 32u) - 'a' < 6
					? ((unsigned char)*p | 32u) - 'a' + 10
					: base;
		if (digit >= base)
			break;
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return false;
	}
	if (p == *at)
		return false;
	*at = p;
	*ret_number = number;
	return true;
}

/* Does the same with a decimal number that blanks may precede. */
bool proc_number(const char **at, uint64_t *ret_number);
/* If the line begins with "NAME:" or "NAME" and blanks, returns the text after them; otherwise
 * NULL. */
const char *proc_value(const char *line, const char *name);

struct proc_field {
	const char *name;
	unsigned base;	/* 0: decimal */
	uint64_t value; /* unchanged if the file has no such line or the line has no number */
};

/* Reads fields of an open file in one pass. A repeated name counts only once. Returns the number of
 * fields found, or a negative errno. */
int proc_fields(int fd, struct proc_field *fields, unsigned count);
/* Does the same for a file of a folder (see proc_open_file). */
int proc_file_fields(int folder, const char *name, struct proc_field *fields, unsigned count);
