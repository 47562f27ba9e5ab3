/* Reports the result of an import. See import_said.h. */
#include "collector/cli/files/import_said.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "collector/answers/answer.h"
#include "collector/answers/json.h"
#include "collector/formats/import.h"
#include "collector/http/server/import.h"
#include "collector/recording/stream_id.h"
#include "collector/catalogue/continue.h"
#include "base/ban.h"

void import_say_continued(const struct stream_continued *c, struct import_result *ret)
{
	cleanup(buf_done) struct buf note = {0};
	char count[FORMAT_COUNTED];

	*ret = (struct import_result){.id = c->id, .format = "heapcast", .events = c->events};
	if (!c->before)
		buf_string(&note, "a stream that is new here");
	else
		buf_printf(&note,
			   c->events ? "the rest of a stream that had %s"
				     : "nothing new of a stream that has %s",
			   format_counted(count, c->before, "event"));
	if (*c->name)
		buf_printf(&note, ", of %s (pid %u)", c->name, c->pid);
	buf_string(&note, c->ended ? "; its end is there" : "; it has no end yet");
	if (c->cut_bytes)
		buf_printf(&note, "; %s bytes of a half-written frame were cut off what was stored",
			   format_count(count, c->cut_bytes));
	if (c->missing)
		buf_printf(&note,
			   *c->held_by
				   ? "; %s batches in between are missing, which %s has: import "
				     "its recording together with these into an empty folder"
				   : "; %s batches in between are missing, and lost",
			   format_count(count, c->missing), c->held_by);
	if (c->unplaced)
		buf_printf(&note,
			   "; %s batches that are missing before the end of what is stored here "
			   "were NOT taken, because nothing can be put in there: import all parts, "
			   "the recording of this folder among them, together into an empty folder "
			   "(--data)",
			   format_count(count, c->unplaced));
	if (c->damaged)
		buf_printf(&note, "; %s is damaged at byte %llu, and what follows was not imported",
			   c->damaged, (unsigned long long)c->damaged_at);
	snprintf(ret->note, sizeof(ret->note), "%s", buf_text(&note));
}

void import_say_members(struct json *json, const char *file, const struct import_result *result)
{
	char id[STREAM_ID_TEXT];

	json_members(json, &import_answer,
		     &(struct import_told){.file = file,
					   .id = stream_id_format(id, &result->id),
					   .format = result->format,
					   .tool = result->tool,
					   .note = result->note,
					   .events = result->events},
		     NULL);
}
