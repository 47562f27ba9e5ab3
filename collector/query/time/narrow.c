/* Narrows a filter to what a value counts, for renderers of rows. See query.h. */
#include <errno.h>

#include "base/error.h"
#include "collector/columns/row_block.h"
#include "collector/query/match/matcher.h"
#include "collector/query/time/peak.h"

#include "base/ban.h"

static int narrow_lifetime(struct filter *filter, enum filter_lifetime lifetime,
			   struct err_text *err)
{
	if (filter->lifetime != LIFETIME_ALL && filter->lifetime != lifetime)
		return err_set(err, -EINVAL,
			       "rows of this value are chosen by the filter \"lifetime\": give one "
			       "of the two");
	filter->lifetime = lifetime;
	return 0;
}

static int narrow_moment(struct filter *filter, uint64_t at_ns, struct err_text *err)
{
	if (filter->alive_at_ns == NO_TIME)
		filter->alive_at_ns = at_ns;
	else if (filter->alive_at_2_ns == NO_TIME)
		filter->alive_at_2_ns = at_ns;
	else
		return err_set(err, -EINVAL,
			       "rows of a moment are chosen by the filter \"alive-at\": give one "
			       "of its two");
	return 0;
}

int filter_narrow(struct filter *filter, struct view *view, enum value value, uint64_t at_ns,
		  struct err_text *err)
{
	int r = 0;

	switch (value) {
	case VALUE_ALLOCATED:
		return 0;
	case VALUE_LEAKED:
		return narrow_lifetime(filter, LIFETIME_ONLY_LEAKED, err);
	case VALUE_FREED:
		return narrow_lifetime(filter, LIFETIME_ONLY_FREED, err);
	case VALUE_IN_USE:
	case VALUE_PEAK:
		r = value_moment(view, value, at_ns, filter, &at_ns, err);
		return r ? r : narrow_moment(filter, at_ns, err);
	}
	return -EINVAL;
}
