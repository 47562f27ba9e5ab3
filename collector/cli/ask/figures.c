/* Prints figures of the process. See figures.h. */
#include "collector/cli/ask/figures.h"

#include <stdio.h>

#include "base/parse.h"
#include "collector/cli/terminal.h"
#include "collector/answers/recorded.h"

#include "base/ban.h"

/* Says how much of the resident memory is not shared. This costs more to read, so it may be older
 * than the other figures. */
static void share_text(char *out, size_t size, const struct figures_info *last)
{
	char share[32], at[32];

	if (last->detailed_ns == NO_TIME)
		*out = '\0';
	else if (last->detailed_ns == last->time_ns)
		snprintf(out, size, " (%s of it its own share)",
			 format_size(share, (double)last->pss));
	else
		snprintf(out, size, " (its own share was %s at %s)",
			 format_size(share, (double)last->pss),
			 format_duration(at, last->detailed_ns));
}

/* The kernel's peak covers the time before the last look only. `whole`: the kernel also said the
 * peak at the end, so it covers the whole life. */
static void print_process(const struct figures_info *last, const struct figures_info *most,
			  bool whole)
{
	char now[32], peak[32], share[80], minor[32], major[32], at[32];

	share_text(share, sizeof(share), last);
	terminal_say(STYLE_PLAIN, 2,
		     "Resident: %s at the last look, at %s%s; %s at most%s; %s minor and %s major "
		     "page faults",
		     format_size(now, (double)last->rss), format_duration(at, last->time_ns), share,
		     format_size(peak, (double)most->rss_peak), whole ? "" : " until then",
		     format_count(minor, last->minor_faults),
		     format_count(major, last->major_faults));
}

static void print_allocator(const struct allocator_info *a)
{
	char used[32], unused[32], top[32], mapped[32], at[32];

	terminal_say(STYLE_PLAIN, 2,
		     "Allocator, as of %s: %s in use and %s free in its arenas (%s of that at the "
		     "top), %s in mappings of single blocks",
		     format_duration(at, a->time_ns), format_size(used, (double)a->uordblks),
		     format_size(unused, (double)a->fordblks),
		     format_size(top, (double)a->keepcost), format_size(mapped, (double)a->hblkhd));
}

void figures_print(const struct recorded *r)
{
	uint64_t peak = r->process.rss_peak;
	char most[32];

	if (r->has_figures)
		print_process(&r->figures, &r->figures_most, peak != 0);
	else if (peak) /* the process ended before anybody read its other figures */
		terminal_say(STYLE_PLAIN, 2, "Resident: %s at most",
			     format_size(most, (double)peak));
	if (r->has_allocator)
		print_allocator(&r->allocator);
}
