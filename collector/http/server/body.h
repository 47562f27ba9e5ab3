#pragma once
/*
 * Reads the body of a request: a JSON object whose members are strings and whole numbers, each at
 * most once. No route needs more; other JSON values are refused with a message.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;

struct body_member {
	const char *name; /* NULL ends the table */
	char *text;	  /* buffer of a string, `size` bytes with NUL; NULL: a number */
	size_t size;
	uint64_t *number; /* receives a number */
	bool given;
};

/* Returns 0, or -EINVAL with a message in `err` and the member at fault, or "", in `ret_name`
 * (64 bytes). */
int body_read(const char *data, size_t length, struct body_member *table, char *ret_name,
	      struct err_text *err);
