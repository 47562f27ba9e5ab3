#pragma once
/* The word that whoever asks over HTTP has to bring. */
#include <stdbool.h>

struct err_text;

#define TOKEN_MIN 16
#define TOKEN_MAX 512

/* From a file that nobody else may read (private_file.h): one line of printable characters without
 * blanks. 0 or a negative errno with a sentence. */
int token_read(const char *path, char ret_token[TOKEN_MAX + 1], struct err_text *err);
/* What the value of an Authorization header brings: "Bearer TOKEN" (RFC 6750); NULL: something
 * else. */
const char *token_brought(const char *authorization);
/* What the field "token" of a form brings (application/x-www-form-urlencoded), without blanks that
 * were pasted along; empty: nothing. */
void token_in_form(const char *body, char ret_token[TOKEN_MAX + 1]);
/* All of what was said is looked at, whatever differs: how long that takes tells nothing of the
 * token, which is not empty. */
bool token_is_same(const char *token, const char *said);
