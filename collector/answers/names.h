#pragma once
/* Names of functions for people. */
#include "collector/answers/answer.h"

/* Returns a function's name without template or generic arguments: "std::vector::push_back(int
 * const&)". A name that is not well-formed is returned unchanged. The caller frees the result.
 * Returns NULL without memory. */
char *without_template_arguments(const char *name);
/* Writes the name in its short form (symbols/fold_name.h) as the member `key`, or as an element if
 * `key` is NULL. If there is nothing to shorten, or `name` is NULL, it writes no member; as an
 * element, "". */
void json_short_name(struct json *json, const char *key, const char *name);
/* The same for a row whose `at` is that of the name. */
answer_writer write_short_name;
