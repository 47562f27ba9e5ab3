#pragma once
/* The headers of an answer besides its status, type and length. This code knows nothing about
 * connections. */
struct exchange;

/* Adds a header; `name` ends with a colon. Returns 0, or another value if there is no room. */
typedef int header_writer(void *context, const char *name, const char *value);

/* Adds all headers. Returns 0, or -1 if `put` failed. */
int headers_put(const struct exchange *x, header_writer *put, void *context);
