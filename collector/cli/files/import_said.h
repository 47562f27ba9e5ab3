#pragma once
/* Reports the result of an import, for `collector import`, and for the process that imports for the
 * page. */
struct import_result;
struct json;
struct stream_continued;

/* Writes the members of import_answer into an object that the caller has opened. */
void import_say_members(struct json *json, const char *file, const struct import_result *result);

/* Describes the import of the rest of a stream in the terms of an imported profile. */
void import_say_continued(const struct stream_continued *continued,
			  struct import_result *ret_result);
