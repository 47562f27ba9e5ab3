#pragma once
/* The token: the shared secret that an HTTP client has to send. */
#include <stdbool.h>

struct err_text;

#define TOKEN_MIN 16
#define TOKEN_MAX 512

/* Reads the token from a file that no other user may read (private_file.h). The file holds one line
 * of printable characters without blanks. Returns 0, or a negative errno with a message in `err`.
 */
int token_read(const char *path, char ret_token[TOKEN_MAX + 1], struct err_text *err);
/* Returns the token in the value of an Authorization header, "Bearer TOKEN" (RFC 6750), or NULL if
 * the value has another form. */
const char *token_brought(const char *authorization);
/* Reads the field "token" of a form (application/x-www-form-urlencoded) and drops blanks that were
 * pasted with it. Sets `ret_token` to "" if the form has no token. */
void token_in_form(const char *body, char ret_token[TOKEN_MAX + 1]);
/* Compares in constant time: the function looks at all of `said` wherever the two differ, so that
 * its duration reveals nothing about the token. `token` must not be empty. */
bool token_is_same(const char *token, const char *said);
