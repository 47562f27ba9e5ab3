#pragma once
/*
 * Reads the body of an order as its route declares (route.h): a JSON object whose members are
 * strings (PARAMETER_TEXT) and whole numbers (PARAMETER_NUMBER), each at most once. No route needs
 * more; other JSON values are refused with a message.
 */
#include <stddef.h>
#include <stdint.h>

struct err_text;
struct exchange;
struct route_parameter;

#define BODY_NAME_MAX  64
#define BODY_NOT_GIVEN UINT64_MAX /* the caller's default for a number; stays if absent */

/* Reads the members into a struct. Strings lie in `data`, which is changed. Returns 0, or -EINVAL
 * with a message in `err` and the member at fault, or "", in `ret_name` (BODY_NAME_MAX bytes). */
int body_read(char *data, size_t length, const struct route_parameter *members, void *into,
	      char *ret_name, struct err_text *err);
/* Reads the body of a request into a struct of its route. */
int body_read_request(struct exchange *x, void *into);
