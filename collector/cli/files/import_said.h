#pragma once
/* What is said of an import: by `collector import`, and by the process that imports for the page.
 */
struct import_result;
struct json;
struct stream_continued;

/* The members of import_answer, into an object that the caller has opened. */
void import_say_members(struct json *json, const char *file, const struct import_result *result);

/* Of the rest of a stream, in the words of the import of a profile. */
void import_say_continued(const struct stream_continued *continued,
			  struct import_result *ret_result);
