#pragma once
/* Decides whether a request may be answered at all, by its method, the type and length of its body,
 * and its sender. This code knows nothing about connections. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/http/server/access.h"

struct exchange;

/* What a request says besides its path and its parameters. A string is NULL if the request lacks
 * that header. */
struct arrival {
	struct claim claim; /* known from headers and the connection alone */
	uint64_t now_ms;
	size_t path_length;   /* longer than the string if the path contains a NUL */
	bool has_version;     /* false: the first line does not end in an HTTP version */
	const char *type;     /* media type of the body */
	const char *length;   /* length of the body */
	const char *accepted; /* media types accepted in the answer */
};

/* Checks a request whose route and method are known. Sets the sender's address and login, and
 * `body_left`. Returns 0, or a negative errno with a status and an error text. */
int admission_check(struct exchange *x, struct access *access, struct arrival *arrival);
/* Tells whether the answer to a refused request is the login page: a person who opens "/" can send
 * a token only by a form. */
bool admission_wants_form(const struct exchange *x, const struct arrival *arrival);
/* Sets the status and the error text of a refusal. Returns `error`. */
int admission_refuse(struct exchange *x, int status, int error, const char *text);
