/* Keeps the index as a file beside the rows (result_file.h). */
#include "collector/query/sweep/result_file.h"
#include "collector/query/time/usage_index.h"

#include "base/ban.h"

static const char *usage_index_kept_name_of(bool leaked)
{
	return leaked ? "usage-leaked" : "usage";
}

int usage_index_load(const struct recording *recording, bool leaked, struct result_file *kept,
		     struct usage_index **ret_index)
{
	uint64_t frames;
	int r = result_file_open(recording, usage_index_kept_name_of(leaked), kept, &frames);

	return r ? r
		 : usage_index_read(kept->data, kept->length, recording, frames, ret_index, NULL);
}

void usage_index_save(const struct usage_index *index, const struct recording *recording,
		      bool leaked)
{
	struct buf head = {0};
	const uint8_t *far;
	size_t length;
	uint64_t frames;

	if (result_file_wanted(recording, usage_index_kept_name_of(leaked), &frames) &&
	    usage_index_write(index, recording, frames, &head, &far, &length) == 0)
		result_file_write(recording, usage_index_kept_name_of(leaked), &head, far, length);
	buf_done(&head);
}
