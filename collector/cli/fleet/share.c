/* collector share: sends what a folder holds to the data base that collectors share. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/cli/program.h"
#include "base/error.h"
#include "base/parse.h"
#include "collector/cli/ask/symbol_sources.h"
#include "collector/cli/commands.h"
#include "collector/cli/progress.h"
#include "collector/clickhouse/url.h"
#include "collector/share/collectors.h"
#include "collector/share/share.h"
#include "collector/share/shared_open.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

#define DAY_NS	       86400000000000u
#define EVERY_LEAST_NS 1000000000u

struct send_options {
	struct common_options common;
	struct symbol_choice symbols;
	const char *store, *page_address;
	uint64_t every_ns, keep_ns;
};

static void share_progress(void *context, uint64_t done, uint64_t of)
{
	static char what[] = "sending streams";

	(void)context;
	progress_show(what, done, of);
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* With --every, only what is new is said: no line a pass. */
struct told {
	bool any;
	int error; /* why something waits; 0: nothing does */
	uint64_t unread, foreign;
};

static void tell_sent(const struct share_report *r)
{
	program_printf(stdout, "%" PRIu64 " stream%s up to date, %" PRIu64 " sum%s sent\n",
		       r->streams, plural(r->streams), r->sums, plural(r->sums));
	fflush(stdout);
}

static void tell_report(struct command_call *call, const struct share_report *r, struct told *told)
{
	if (!told->any || r->sums || (told->error && !r->waiting))
		tell_sent(r);
	if (r->unread && r->unread != told->unread)
		command_note(call->command, "%" PRIu64 " stream%s could not be read. The first: %s",
			     r->unread, plural(r->unread), r->unread_why.text);
	if (r->foreign && r->foreign != told->foreign)
		command_note(call->command,
			     "%" PRIu64
			     " stream%s another collector sends already: this folder and "
			     "its hold the same recordings",
			     r->foreign, plural(r->foreign));
	if (r->unset)
		command_note(call->command,
			     "%" PRIu64
			     " stream%s count as recorded in 1970, and are not kept in the shared "
			     "store (--store-keep). The first: %s",
			     r->unset, plural(r->unset), r->unset_why.text);
	if (*r->undropped.text)
		command_note(call->command, "%s", r->undropped.text);
	if (r->waiting && r->error != told->error)
		command_note(call->command, "%" PRIu64 " stream%s could not be sent yet: %s",
			     r->waiting, plural(r->waiting), r->why.text);
	*told = (struct told){.any = true,
			      .error = r->waiting ? r->error : 0,
			      .unread = r->unread,
			      .foreign = r->foreign};
}

static int share_once(struct command_call *call, struct share *share, struct told *told)
{
	struct share_report report;
	struct err_text err = {0};
	int r = share_pass(share, &report, &err);

	if (*report.damaged.text)
		command_note(call->command, "%s", report.damaged.text);
	if (r < 0) {
		if (r != told->error)
			command_fault(call->command, r, &err);
		told->error = r;
		return EXIT_FAULT;
	}
	tell_report(call, &report, told);
	return report.waiting ? EXIT_FAULT : report.unread ? EXIT_NO : EXIT_DONE;
}

static int share_open(const struct send_options *o, struct symbols *symbols,
		      struct share **ret_share, struct err_text *err)
{
	cleanup(clickhouse_url_clear) struct clickhouse_url url;
	int r = shared_url(o->store, &url, err);

	return r ? r
		 : share_new(&(struct share_options){.data = o->common.data,
						     .url = &url,
						     .symbols = symbols,
						     .keep_days = (uint32_t)(o->keep_ns / DAY_NS),
						     .address = o->page_address,
						     .progress = share_progress},
			     ret_share, err);
}

static int share_run(struct command_call *call)
{
	const struct send_options *o = call->options;
	struct symbol_sources sources = {0};
	struct symbols *symbols = NULL;
	struct share *share = NULL;
	struct err_text err = {0};
	struct told told = {0};
	int r, status = EXIT_DONE;
	bool began = false;

	if (!o->store || !*o->store)
		return command_usage_error(
			call->command, "--store names the data base: clickhouse://HOST/DATABASE");
	if (o->keep_ns % DAY_NS)
		return command_usage_error(call->command, "--store-keep takes whole days: 30d");
	if (o->page_address && !collector_address_is_valid(o->page_address))
		return command_usage_error(call->command, PAGE_ADDRESS_WRONG);
	if (o->every_ns && o->every_ns < EVERY_LEAST_NS)
		return command_usage_error(call->command, "--every takes 1s at least");
	r = symbol_sources_open(&sources, o->common.data, &o->symbols, &symbols, &err);
	if (!r)
		r = share_open(o, symbols, &share, &err);
	if (r < 0)
		status = command_input_fault(call->command, r, &err);
	while (!status || (share && o->every_ns)) {
		status = share_once(call, share, &told);
		if (!o->every_ns || (!began && share_is_refused(told.error)))
			break;
		began = true;
		nanosleep(&(struct timespec){(time_t)(o->every_ns / 1000000000u),
					     (long)(o->every_ns % 1000000000u)},
			  NULL);
	}
	share_free(share);
	symbols_free(symbols);
	symbol_sources_close(&sources);
	return status;
}

static const struct option share_table[] = {
	STORE_OPTION(struct send_options, store),
	OPTION_TIME(struct send_options, every_ns, "every", "TIME",
		    "go on, and look so often for what is new: 1m"),
	STORE_KEEP_OPTION(struct send_options, keep_ns),
	PAGE_ADDRESS_OPTION(struct send_options, page_address, "none"),
	{0},
};

static const struct option symbol_table[] = {
	SYMBOL_OPTIONS(struct send_options, symbols),
	{0},
};

static const struct option_group groups[] = {
	{NULL, share_table}, {"Where names come from", symbol_table}, {"Where", data_table}, {0}};

static const struct send_options defaults = {.common.data = DEFAULT_DATA};

const struct command command_share = {
	.name = "share",
	.summary = "send sums to a data base that many collectors share",
	.usage = "--store URL [OPTION...]",
	.about = "Sends what the streams of a folder allocated and had in use, by minute and\n"
		 "backtrace, to a data base of ClickHouse. Questions about the fleet are answered\n"
		 "from there (fleet --store, list --store), whichever collector has the streams.\n"
		 "What was sent before is not sent again. 'gather --store' does the same while it\n"
		 "gathers.\n",
	.examples = "  collector share --store clickhouse://heaps@db1/heapcast\n"
		    "  collector share --store "
		    "'clickhouse://heaps@db1,db2,db3/heapcast?cluster=heaps'\n"
		    "  collector fleet --store clickhouse://heaps@db1/heapcast\n",
	.groups = groups,
	.options_size = sizeof(struct send_options),
	.defaults = &defaults,
	.run = share_run,
};
