#pragma once
/* Shortens names of functions for people. */
#include "collector/answers/answer.h"

/* Returns a function's name without template or generic arguments: "std::vector::push_back(int
 * const&)". Returns a copy of the name if it is not well-formed, and NULL without memory. The
 * caller frees the result. */
char *without_template_arguments(const char *name);
/* Writes the short form of the name (symbols/fold_name.h) as the member `key`, or as an array
 * element if `key` is NULL. If the name cannot be shortened or is NULL, it writes no member, and ""
 * as an element. */
void json_short_name(struct json *json, const char *key, const char *name);
/* Does the same for a row whose `at` points to the name. */
answer_writer write_short_name;
