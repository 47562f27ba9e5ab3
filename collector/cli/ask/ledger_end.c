/* Prints how a program ended, and the states of its recording. See ledger_end.h. */
#include "collector/cli/ask/ledger_end.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "collector/cli/terminal.h"
#include "collector/answers/account.h"
#include "collector/recording/recording.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

#define STATES_SHOWN 20
#define WHAT_COLUMN  23

void ledger_end_print(const struct recording *r)
{
	const struct process_info *p = recording_process(r);
	const char *source = account_end_source(p);
	char how[ACCOUNT_END];

	account_end(how, sizeof(how), p);
	if (!p->ended)
		printf("\nEnd: not seen yet.\n");
	else
		printf("\nEnd: %s%s.\n", how, source);
}

static void print_state(const struct mark_info *m)
{
	char what[ACCOUNT_WHAT], at[32], thread[16];

	account_describe(what, sizeof(what), m);
	snprintf(thread, sizeof(thread), "%u", m->thread);
	printf("%-8s %12s  ", m->thread ? thread : "-", format_duration(at, m->time_ns));
	terminal_line(STYLE_PLAIN, what, 0);
	if (!m->by)
		return;
	printf("%*sby ", WHAT_COLUMN, "");
	terminal_line(STYLE_DIM, m->by, 0);
}

void ledger_states_print(const struct recording *r)
{
	uint64_t waited = 0;
	uint32_t found = 0;
	char text[32];

	for (uint32_t i = 0; i < recording_marks(r); i++) {
		const struct mark_info *m = recording_mark(r, i);

		if (!account_state(m))
			continue;
		if (!found)
			printf("\n%-8s %12s  %s\n", "STATE OF", "AT", "WHAT");
		if (found++ < STATES_SHOWN)
			print_state(m);
		waited += m->kind == HEAPCAST__MARK_KIND__MARK_WAITED ? m->value : 0;
	}
	if (found > STATES_SHOWN)
		printf("... and %u more (--json has all)\n", found - STATES_SHOWN);
	if (waited)
		printf("Threads have waited for room in the ring for %s, taken together.\n",
		       format_duration(text, waited));
}
