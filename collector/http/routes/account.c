/* /data/ID/ledger: the account of a recording, as `collector ledger --json` has it. */
#include "collector/answers/account.h"
#include "collector/answers/json.h"
#include "collector/http/server/routes.h"
#include "collector/http/server/sources.h"
#include "collector/recording/completeness.h"
#include "collector/recording/recording.h"

#include "base/ban.h"

int ledger_step(struct exchange *x)
{
	const struct recording *recording = x->source->recording;
	struct completeness completeness;
	struct err_text reason = {0};
	struct json json;
	int r = no_parameters(x);

	if (r < 0)
		return r;
	recording_completeness(recording, &completeness);
	recording_adds_up(recording, &reason);
	json_answer(&json, x);
	json_account(&json, recording, &completeness, reason.text);
	json_end(&json, '}');
	return buf_error(&x->out);
}
