#pragma once
/* Whether a request may be answered at all: its method, the type and length of its body, and who
 * sends it. This code knows nothing about connections. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/http/server/access.h"

struct exchange;

/* What a request says beside its path and its parameters. Texts are NULL where the header is
 * absent. */
struct arrival {
	struct claim claim; /* from headers and the connection alone */
	uint64_t now_ms;
	size_t path_length;   /* longer than the text if that has a NUL */
	bool has_version;     /* false: the first line did not end where HTTP/1.1 stands */
	const char *type;     /* of the body */
	const char *length;   /* likewise */
	const char *accepted; /* types of an answer */
};

/* Checks it, after the exchange knows its route and method. Sets who asks, and `body_left`. Returns
 * 0, or a negative errno with status and message. */
int admission_check(struct exchange *x, struct access *access, struct arrival *arrival);
/* Tells whether the answer to a refused request is the login page: a person who opens "/" can send
 * a token only by a form. */
bool admission_wants_form(const struct exchange *x, const struct arrival *arrival);
/* Refuses with this status. Returns `error`. */
int admission_refuse(struct exchange *x, int status, int error, const char *text);
