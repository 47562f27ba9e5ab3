#pragma once
/* What is said of the rest of a stream: by `collector import`, and by the process that imports for
 * the page. */
struct import_result;
struct stream_continued;

/* In the words of the import of a profile. */
void import_say_continued(const struct stream_continued *continued,
			  struct import_result *ret_result);
