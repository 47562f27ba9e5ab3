/* Checks moments against the end of the recording. See filter.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/parse.h"
#include "collector/query/match/view.h"
#include "collector/query/query.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

#define EPOCH_LEAST 1e9 /* from here on a number is seconds or milliseconds since the epoch */
#define SECOND_NS   1000000000u

bool query_beyond_end(const struct view *view, uint64_t ns, struct err_text *ret_why)
{
	const struct recording *recording = view_recording(view);
	uint64_t end = recording_end_ns(recording);
	char asked[32], is[32];

	/* A user who types the end as it was printed, rounded, means the end. */
	if (ns <= end || !strcmp(format_duration(asked, ns), format_duration(is, end)))
		return false;
	err_set(ret_why, 0,
		recording_is_growing(recording)
			? "is not there yet: as of its last batch the recording ends at %s"
			: "is beyond the end: the recording ends at %s",
		is);
	return true;
}

int query_moment(const struct view *view, const char *name, const char *text, uint64_t *ret_ns,
		 struct err_text *err)
{
	uint64_t ns = 0, end = recording_end_ns(view_recording(view));
	struct err_text why;
	int r = query_time(view, name, text, &ns, err);

	if (r < 0)
		return r;
	/* Whole seconds since the epoch are rounded, too. */
	if (query_beyond_end(view, ns, &why) &&
	    (strtod(text, NULL) < EPOCH_LEAST || ns - end >= SECOND_NS))
		return err_set(err, -EINVAL, "%s %.60s %s", name, text, why.text);
	*ret_ns = ns < end ? ns : end;
	return r;
}
