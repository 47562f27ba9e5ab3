/* Whether the account of a recording balances. See struct ledger_info in store.h. */
#include <stdio.h>

#include "collector/store/recording.h"
#include "base/ban.h"

typedef unsigned long long ull;

static bool no(struct err_text *reason, const char *what, uint64_t left, const char *other,
	       uint64_t right)
{
	err_set(reason, 0, "%s is %llu, but %s is %llu", what, (ull)left, other, (ull)right);
	return false;
}

static bool whole(const struct ledger_info *l, struct err_text *reason)
{
	if (l->damaged_places)
		err_set(reason, 0,
			"%llu bytes in %llu places of the recording are damaged, the first at "
			"offset %llu",
			(ull)l->skipped_bytes, (ull)l->damaged_places, (ull)l->first_damage);
	else if (l->missing_batches)
		err_set(reason, 0, "%llu batches are missing", (ull)l->missing_batches);
	return !l->damaged_places && !l->missing_batches;
}

static bool threads_balance(const struct recording *r, struct err_text *reason)
{
	for (uint32_t i = 1; i <= recording_threads(r); i++) {
		const struct thread_info *t = recording_thread(r, i);
		char what[64];

		if (!t || r->ledger.before_join || r->ledger.missed || t->delivered == t->stored)
			continue;
		snprintf(what, sizeof(what), "of thread %u, delivered", i);
		return no(reason, what, t->delivered, "stored", t->stored);
	}
	return true;
}

bool recording_balances(const struct recording *r, struct err_text *reason)
{
	const struct ledger_info *l = &r->ledger;
	uint64_t accounted = l->delivered + l->culled + l->not_sampled + l->lost + l->pending;

	/* Damage first: it explains the rest. */
	if (!whole(l, reason))
		return false;
	if (l->produced != accounted)
		return no(reason, "produced", l->produced,
			  "delivered + culled + not sampled + lost + pending", accounted);
	if (l->delivered != l->stored + l->before_join + l->missed)
		return no(reason, "delivered", l->delivered, "stored + before join + missed",
			  l->stored + l->before_join + l->missed);
	if (l->culled != l->culled_stored + l->culled_missed)
		return no(reason, "culled", l->culled, "in the sums that came, or went before",
			  l->culled_stored + l->culled_missed);
	return threads_balance(r, reason);
}
