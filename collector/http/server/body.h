#pragma once
/*
 * Reads the body of a request: a JSON object whose members are strings and whole numbers, each at
 * most once. That is all that any route takes; what else JSON can hold is refused with a sentence.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err_text;

struct body_member {
	const char *name; /* NULL ends the table */
	char *text;	  /* a string goes here, `size` bytes with its NUL; NULL: it is a number, */
	size_t size;
	uint64_t *number; /* which goes here */
	bool given;
};

/* 0; -EINVAL with the sentence, and in `ret_name` (64 bytes) the member that it is about, or
 * nothing. */
int body_read(const char *data, size_t length, struct body_member *table, char *ret_name,
	      struct err_text *err);
