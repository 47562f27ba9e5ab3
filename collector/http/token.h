#pragma once
/* The word that whoever asks over HTTP has to bring. */
#include <stdbool.h>

struct err_text;

#define TOKEN_MIN 16
#define TOKEN_MAX 512

/* From a file that nobody else may read (private_file.h): one line of printable characters without blanks. 0 or a negative errno
 * with a sentence. */
int token_read(const char *path, char ret_token[TOKEN_MAX + 1], struct err_text *err);
/* Does the value of an Authorization header bring it: "Bearer TOKEN" (RFC 6750), or as the password of "Basic" (RFC 7617), whoever the
 * user is? How long that takes tells nothing of the token. */
bool token_is_brought(const char *token, const char *authorization);
