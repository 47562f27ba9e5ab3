/*
 * Makes the findings, in the order in which a person would act on them. The thresholds:
 *
 *	a function or a stack        more than 5 % of the total
 *	a subsystem dominates        half of the total, and twice as much as the next
 *	no subsystem                 half of the total: then the rules do not fit the program
 *	the same value repeated      by 4 stacks or more of one function, 1 % of the total together
 *	growth                       a tenth of the total; a function: 1 % of the total, and half
 *				     of what it allocated
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "collector/analyze/parts.h"

#include "base/ban.h"

#define SITE_PERCENT	    5
#define DOMINATES_PERCENT   50
#define REPEATED_TRACES	    4
#define REPEATED_PERCENT    1
#define GROWTH_PERCENT	    10
#define GROWTH_SITE_PERCENT 1
#define EACH_MOST	    5 /* maximum number of findings of each kind */
#define FINDINGS_MOST	    32
#define NBSP		    "\u00a0" /* no line break there */

static void findings_add(struct analysis *a, struct analysis_finding finding)
{
	if (a->result.finding_count < FINDINGS_MOST)
		a->result.findings[a->result.finding_count++] = finding;
}

static void find_sites(struct analysis *a)
{
	const struct analysis_functions *f = &a->result.innermost;

	for (uint32_t i = 0; i < f->count && i < EACH_MOST; i++)
		if (analysis_percent(&a->result, f->list[i].value) > SITE_PERCENT)
			findings_add(a, (struct analysis_finding){.kind = FINDING_SITE,
								  .name = f->list[i].name,
								  .value = f->list[i].value,
								  .traces = f->list[i].traces});
}

/* Finds the heavy stacks. The list is sorted, heaviest first. */
static void find_traces(struct analysis *a)
{
	const struct analysis_traces *top = &a->result.top;
	struct analysis_finding finding = {.kind = FINDING_TRACES};

	while (finding.traces < top->count &&
	       analysis_percent(&a->result, top->list[finding.traces].value) > SITE_PERCENT)
		add_capped(&finding.value, top->list[finding.traces++].value);
	if (finding.traces)
		findings_add(a, finding);
}

static void find_subsystems(struct analysis *a)
{
	const struct analysis_subsystem *list = a->result.subsystems;
	uint32_t count = a->result.subsystem_count;
	struct analysis_finding finding = {.kind = FINDING_DOMINATES};

	if (!count || analysis_percent(&a->result, list[0].value) < DOMINATES_PERCENT)
		return;
	if (list[0].number == RULES_NO_SUBSYSTEM)
		finding.kind = FINDING_UNKNOWN_PART;
	else if (count > 1 && list[0].value / 2 < list[1].value)
		return;
	finding.name = list[0].name;
	finding.value = list[0].value;
	finding.traces = list[0].traces;
	findings_add(a, finding);
}

static int heaviest_pattern_first(const void *left, const void *right)
{
	const struct analysis_finding *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Inserts a finding into the sorted list of `count` findings. Returns the new count: at most
 * EACH_MOST of the heaviest are kept. */
static uint32_t findings_keep(struct analysis_finding *list, uint32_t count,
			      struct analysis_finding finding)
{
	list[count++] = finding;
	qsort(list, count, sizeof(*list), heaviest_pattern_first);
	return count < EACH_MOST ? count : EACH_MOST;
}

static void find_repeated(struct analysis *a)
{
	struct analysis_finding list[EACH_MOST + 1];
	uint32_t count = 0;

	for (uint32_t key = 1; key <= a->patterns.keys.count; key++) {
		struct analysis_finding f = {.kind = FINDING_REPEATED,
					     .traces = a->patterns.traces[key]};
		uint64_t pair[2];

		memcpy(pair, intern_get(&a->patterns.keys, key), sizeof(pair));
		f.name = intern_get(&a->frames.labels, (uint32_t)pair[0]);
		f.each = pair[1];
		if (__builtin_mul_overflow(f.each, f.traces, &f.value))
			f.value = UINT64_MAX;
		if (f.traces >= REPEATED_TRACES &&
		    analysis_percent(&a->result, f.value) >= REPEATED_PERCENT)
			count = findings_keep(list, count, f);
	}
	for (uint32_t i = 0; i < count; i++)
		findings_add(a, list[i]);
}

static void find_growth(struct analysis *a)
{
	const struct sums *sums = &a->innermost;
	struct analysis_finding list[EACH_MOST + 1];
	uint32_t count = 0;

	if (analysis_percent(&a->result, a->result.grown) >= GROWTH_PERCENT)
		findings_add(a, (struct analysis_finding){.kind = FINDING_GROWTH,
							  .value = a->result.grown});
	for (uint32_t i = 0; i < sums->capacity; i++) {
		const struct label_sum *sum = &sums->list[i];

		if (!sum->first || sum->grown < sum->value / 2 ||
		    analysis_percent(&a->result, sum->grown) < GROWTH_SITE_PERCENT)
			continue;
		count = findings_keep(
			list, count,
			(struct analysis_finding){.kind = FINDING_GROWTH_SITE,
						  .name = intern_get(&a->frames.labels, i),
						  .value = sum->grown,
						  .traces = sum->traces});
	}
	for (uint32_t i = 0; i < count; i++)
		findings_add(a, list[i]);
}

int findings_make(struct analysis *a)
{
	a->result.findings = calloc(FINDINGS_MOST, sizeof(*a->result.findings));
	if (!a->result.findings)
		return -ENOMEM;
	if (!a->result.total)
		return 0;
	find_subsystems(a);
	find_sites(a);
	find_traces(a);
	find_repeated(a);
	find_growth(a);
	return 0;
}

/* ---- in words ---- */

/* Tells whether this is the first finding of its kind. The advice is given once per kind. */
static bool is_first(const struct analysis_result *r, const struct analysis_finding *f)
{
	return f == r->findings || f[-1].kind != f->kind;
}

static void site_text(const struct analysis_finding *f, bool first, char headline[FINDING_TEXT],
		      char sentence[FINDING_TEXT], const char *amount, double percent)
{
	char traces[32];

	snprintf(headline, FINDING_TEXT, "%.100s has %.1f %%", f->name, percent);
	snprintf(sentence, FINDING_TEXT, "%s on %s stack trace%s.%s", amount,
		 format_count(traces, f->traces), f->traces == 1 ? "" : "s",
		 first ? " One place with more than 5" NBSP "% is worth a look of its own." : "");
}

static void traces_text(const struct analysis_result *r, const struct analysis_finding *f,
			bool counts, char headline[FINDING_TEXT], char sentence[FINDING_TEXT])
{
	char amount[32];
	size_t n = 0;

	if (f->traces == 1)
		snprintf(headline, FINDING_TEXT, "One stack trace alone has %.1f %%",
			 analysis_percent(r, f->value));
	else
		snprintf(headline, FINDING_TEXT,
			 "%" PRIu64 " stack traces have more than 5 %% each, %.1f %% together",
			 f->traces, analysis_percent(r, f->value));
	for (uint32_t i = 0; i < f->traces && i < EACH_MOST; i++)
		n += (size_t)snprintf(sentence + n, FINDING_TEXT - n, "%s#%u has %s", i ? ", " : "",
				      i + 1, analysis_amount(amount, r->top.list[i].value, counts));
	snprintf(sentence + n, FINDING_TEXT - n, "; the full stacks are below.");
}

static void subsystem_text(const struct analysis_finding *f, char headline[FINDING_TEXT],
			   char sentence[FINDING_TEXT], const char *amount, double percent)
{
	if (f->kind == FINDING_DOMINATES) {
		snprintf(headline, FINDING_TEXT, "%.100s dominates: %.1f %%", f->name, percent);
		snprintf(sentence, FINDING_TEXT,
			 "%s, more than twice the next subsystem. If that is not what this program "
			 "is for, "
			 "begin here.",
			 amount);
		return;
	}
	snprintf(headline, FINDING_TEXT, "%.1f %% belongs to no subsystem", percent);
	snprintf(sentence, FINDING_TEXT,
		 "%s that these rules have no name for: take others (--rules), or write the "
		 "program's own "
		 "parts down.",
		 amount);
}

static void repeated_text(const struct analysis_finding *f, bool first, bool counts,
			  char headline[FINDING_TEXT], char sentence[FINDING_TEXT],
			  const char *amount, double percent)
{
	char each[32], traces[32];

	analysis_amount(each, f->each, counts);
	snprintf(headline, FINDING_TEXT, "%.100s: %s times %s", f->name,
		 format_count(traces, f->traces), each);
	snprintf(sentence, FINDING_TEXT,
		 "The same amount on %s ways through the program, %s (%.1f" NBSP "%%) together%s",
		 traces, amount, percent,
		 first ? ": a buffer of fixed size that many make? Make it smaller, later, or one "
			 "for all."
		       : ".");
}

static void growth_text(const struct analysis_finding *f, bool first, char headline[FINDING_TEXT],
			char sentence[FINDING_TEXT], const char *amount, double percent)
{
	if (f->kind == FINDING_GROWTH) {
		snprintf(headline, FINDING_TEXT, "%.1f %% came of making blocks larger", percent);
		snprintf(sentence, FINDING_TEXT,
			 "%s by realloc and growing containers: each time the old block is copied, "
			 "and both are "
			 "there for a moment; the heap fragments.",
			 amount);
		return;
	}
	snprintf(headline, FINDING_TEXT, "%.100s grows blocks: %.1f %%", f->name, percent);
	snprintf(sentence, FINDING_TEXT, "%s, half or more of what it allocated%s", amount,
		 first ? ": reserve the size ahead where it is known." : ".");
}

void analysis_finding_text(const struct analysis_result *result, const struct analysis_finding *f,
			   bool counts, char headline[FINDING_TEXT], char sentence[FINDING_TEXT])
{
	double percent = analysis_percent(result, f->value);
	bool first = is_first(result, f);
	char amount[32];

	analysis_amount(amount, f->value, counts);
	switch (f->kind) {
	case FINDING_SITE:
		site_text(f, first, headline, sentence, amount, percent);
		return;
	case FINDING_TRACES:
		traces_text(result, f, counts, headline, sentence);
		return;
	case FINDING_DOMINATES:
	case FINDING_UNKNOWN_PART:
		subsystem_text(f, headline, sentence, amount, percent);
		return;
	case FINDING_REPEATED:
		repeated_text(f, first, counts, headline, sentence, amount, percent);
		return;
	case FINDING_GROWTH:
	case FINDING_GROWTH_SITE:
		growth_text(f, first, headline, sentence, amount, percent);
	}
}
