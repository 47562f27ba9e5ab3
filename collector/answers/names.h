#pragma once
/* Names of functions for people. */

/* Returns a function's name without template or generic arguments: "std::vector::push_back(int
 * const&)". A name that is not well-formed is returned unchanged. The caller frees the result.
 * Returns NULL without memory. */
char *without_template_arguments(const char *name);
