/* Prints the report of `agent attach --check`. See check.h. */
#include "agent/ebpf/check.h"

#include <string.h>

#include "agent/ebpf/sites_survey.h"
#include "agent/ebpf/rights.h"
#include "agent/ebpf/trial.h"
#include "proto/event.h"
#include "base/ban.h"

#define COLUMNS	   80
#define PRICE_RUNS 3
#define CALLS	   2000

/* Prints words in lines with this indentation. `used` columns of the first line are in use
 * already. */
static void print_wrapped(FILE *out, unsigned indent, unsigned used, const char *text)
{
	while (*text) {
		unsigned length = (unsigned)strcspn(text, " ");

		if (used > indent && used + 1 + length > COLUMNS) {
			fputc('\n', out);
			used = 0;
		}
		if (!used)
			used = (unsigned)fprintf(out, "%*s", (int)indent, "");
		else if (used > indent)
			used += (unsigned)fprintf(out, " ");
		used += (unsigned)fprintf(out, "%.*s", (int)length, text);
		text += length + (text[length] == ' ');
	}
	fputc('\n', out);
}

/* ---- the host ---- */

/* Prints a reason only once if consecutive rights lack it. */
static void print_rights(FILE *out, const struct rights *rights)
{
	const char *said = NULL;

	fprintf(out, "this host:\n");
	for (unsigned i = 0; i < RIGHTS; i++) {
		const struct right_answer *a = &rights->of[i];

		fprintf(out, "  %-3s  %s\n", a->yes ? "yes" : "no", right_name((enum right)i));
		if (a->reason && a->reason != said)
			print_wrapped(out, 7, 0, a->reason);
		said = a->reason ? a->reason : said;
	}
}

/* Returns the minimum time of several runs, because other processes use the machine, too. Returns a
 * negative value if the time can't be measured. */
static double price(enum trial_kind kind, enum trial_function function, bool returns)
{
	struct trial trial;
	double best = -1, ns;
	uint64_t hits;

	if (!trial_begin(&trial, kind, function, returns))
		for (unsigned i = 0; i < PRICE_RUNS; i++)
			if (!trial_run(&trial, function, CALLS, &ns, &hits) && hits >= CALLS &&
			    (best < 0 || ns < best))
				best = ns;
	trial_done(&trial);
	return best;
}

static void print_price(FILE *out, double ns, const char *what)
{
	if (ns >= 0)
		fprintf(out, "  %8.0f ns  %s\n", ns, what);
}

static void print_prices(FILE *out, const struct rights *rights)
{
	enum trial_kind kind = rights->of[RIGHT_MULTI].yes ? TRIAL_MULTI : TRIAL_EVENT;

	fprintf(out, "what a probe costs here, measured now with a program that only counts:\n");
	print_price(out, price(kind, TRIAL_EMULATED, false),
		    "at an instruction that the kernel emulates");
	print_price(out, price(kind, TRIAL_STEPPED, false), "at one that it steps through");
	print_price(out, price(kind, TRIAL_EMULATED, true), "at a function's return, alone");
	if (rights->of[RIGHT_SESSION].yes)
		print_price(out, price(TRIAL_SESSION, TRIAL_EMULATED, true),
			    "at entry and return by one program");
}

/* ---- the process ---- */

static const char *check_place_of(const struct site *site)
{
	if (!site->emulated)
		return "entry, stepped through";
	return site->offset == site->function ? "entry" : "further in";
}

static const char *result_of(const struct sites_choice *choice)
{
	uint32_t flags = site_flags(choice->word);

	if (event_class(site_kind(choice->word)) == EVENT_CLASS_FREE)
		return flags & SITE_FOLLOWED ? ", followed to its return: it may hand on" : "";
	if (flags & SITE_RETURN_OK)
		return ", result by its return";
	return flags & SITE_HAS_EXITS ? ", result at its ends" : ", no result: counted as lost";
}

static void print_choice(FILE *out, const struct sites_choice *choice)
{
	unsigned used = (unsigned)fprintf(out, "    %-30.30s ", choice->site->name);
	char text[COLUMNS];

	snprintf(text, sizeof(text), "%s%s", check_place_of(choice->site), result_of(choice));
	print_wrapped(out, 8, used, text);
}

static unsigned print_module(FILE *out, const struct sites_survey *process, uint32_t m)
{
	unsigned entries = 0, emulated = 0;

	for (size_t i = 0; i < process->chosen; i++)
		if (process->choice[i].module == m && process->choice[i].site->kind == SITE_ENTRY) {
			entries++;
			emulated += process->choice[i].site->emulated;
		}
	if (!entries)
		return 0;
	print_wrapped(out, 2, 0, process->module[m].path);
	fprintf(out, "    %u functions, %u of them at an instruction that is emulated\n", entries,
		emulated);
	for (size_t i = 0; i < process->chosen; i++)
		if (process->choice[i].module == m && process->choice[i].site->kind == SITE_ENTRY)
			print_choice(out, &process->choice[i]);
	return entries;
}

static void print_unseen(FILE *out, const struct sites_survey *process)
{
	bool any = false;

	for (uint32_t m = 0; m < process->count; m++) {
		const struct surveyed_module *module = &process->module[m];

		if (!module->known || module->sites.skip_count)
			any = true;
	}
	fprintf(out, "not seen:\n");
	for (uint32_t m = 0; any && m < process->count; m++) {
		const struct surveyed_module *module = &process->module[m];

		if (!module->known || module->sites.skip_count)
			print_wrapped(out, 2, 0, module->path);
		if (!module->known)
			print_wrapped(out, 4, 0, module->reason.text);
		for (size_t i = 0; i < module->sites.skip_count; i++)
			print_wrapped(out, 6,
				      (unsigned)fprintf(out, "    %s:", module->sites.skip[i].name),
				      module->sites.skip[i].reason);
	}
	print_wrapped(
		out, 2, 0,
		"blocks from before; functions without a symbol (a stripped program with an "
		"allocator inside, a copy that the compiler inlined), pools of its own; memory "
		"that is mapped without libc (system calls of Go's or a JIT compiler's own); "
		"results of calls that end by an exception or longjmp");
}

static int print_process(FILE *out, const struct rights *rights, pid_t pid)
{
	struct sites_survey process;
	const char *reason = "it can't be looked at";
	unsigned functions = 0;
	int error = rights_to_read(pid, &reason);

	fprintf(out, "process %d:\n", pid);
	if (error) {
		print_wrapped(out, 2, 0, reason);
		return error;
	}
	error = sites_survey_run(pid, &process);
	if (error)
		print_wrapped(out, 2, 0, reason);
	for (uint32_t m = 0; !error && m < process.count; m++)
		functions += print_module(out, &process, m);
	if (!error && !functions)
		print_wrapped(out, 2, 0,
			      "no allocator's function was found. A static program, or one with "
			      "an allocator inside, needs its symbols, which strip removes");
	if (!error && process.go)
		print_wrapped(
			out, 2, 0,
			"its main program is Go's: what Go's own heap holds is not seen (Go's "
			"own profiler shows it: runtime/pprof), only blocks of its C code");
	if (!error && rights_is_filtered(pid) && !rights->of[RIGHT_FILTERED].yes) {
		print_wrapped(out, 2, 0,
			      "it is behind a seccomp filter, and this kernel would kill it at a "
			      "probed return: use LD_PRELOAD");
		functions = 0;
	}
	if (!error)
		print_unseen(out, &process);
	sites_survey_done(&process);
	return error ? error : functions ? 0 : -1;
}

int attach_check(FILE *out, pid_t pid)
{
	struct rights rights;
	int error = 0;

	rights_try(&rights);
	print_rights(out, &rights);
	if (rights.enough)
		print_prices(out, &rights);
	if (pid)
		error = print_process(out, &rights, pid);
	print_wrapped(out, 0, 0,
		      !rights.enough ? "attaching does not work here: see what is missing above"
		      : error	     ? "attaching works here, but not to this process: see above"
				     : "attaching works");
	return rights.enough && !error ? 0 : 1;
}
