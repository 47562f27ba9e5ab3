/* The head of an answer about a recording. See recorded.h. */
#include "collector/answers/recorded.h"

#include "collector/answers/answer.h"
#include "collector/catalogue/watched.h"
#include "collector/recording/recording.h"
#include "heapcast.pb-c.h"

#include "base/ban.h"

#define ANSWER_OF struct origin_info
static const struct answer_field origin_fields[] = {
	ROW("file", file, NULL, ""),
	ROW("format", format, NULL, ""),
	ROW("tool", tool, NULL, "the tool that wrote it; empty: unknown"),
	ROW("exact", exact, NULL, "weights are counts of blocks, no estimates"),
	ROW("note", note, NULL, ""),
	ROW("wall_ns", wall_ns, "ns since the epoch", "", .when = IF_SET),
	{0},
};
#undef ANSWER_OF
static const struct answer origin_answer = {"recorded_origin", origin_fields};

#define ANSWER_OF struct recorded
static const struct answer_field recorded_fields[] = {
	ROW_AS("id", id, ANSWER_ID, NULL, "32 hexadecimal digits"),
	ROW("name", process.name, NULL, "what people call the program"),
	ROW("executable", process.executable, NULL, "path of the program"),
	ROW("command_line", process.command_line, NULL, "arguments, joined by blanks"),
	ROW("host", process.host, NULL, ""),
	ROW("architecture", process.architecture, NULL, "as in uname -m"),
	ROWS_OF_LABELS(process.labels),
	ROW("pid", process.pid, NULL, ""),
	ROW("start_wall_ns", process.start_wall_ns, "ns since the epoch", "when recording began"),
	ROW("duration_ns", duration_ns, "ns", "how long the recording is"),
	ROW("ended", process.ended, NULL, "false: the program's end was not seen"),
	ROW_AS("end", end, ANSWER_CHARS, NULL, "how the program ended, in words"),
	ROW("ran_before_ns", process.ran_before_ns, "ns",
	    "how long the program had run before recording began; 0: recorded from its start"),
	ROW("watched_from_start", watched_from_start, NULL,
	    "false: the program had run before recording began"),
	ROW("watched_to_end", watched_to_end, NULL, "false: the program's end was not seen"),
	ROW("rss_peak", process.rss_peak, "bytes",
	    "the most resident memory over the program's life", .when = IF_SET),
	ROW_OBJECT("imported_from", process.origin, origin_answer, "",
		   WHEN(process.origin.imported)),
	ROW("sampled", sampled, NULL, "numbers are estimates"),
	ROW("sample_interval", process.sample_interval, "bytes", "", WHEN(sampled)),
	ROW("samples_refused", samples_refused, NULL, "samples without room in the program's set",
	    WHEN(sampled)),
	ROW("cull_ns", process.cull_ns, "ns",
	    "blocks that lived shorter than this are sent as sums; 0: none"),
	ROW("culled_blocks", culled.blocks, "blocks", "short-lived blocks that were sent as sums"),
	ROW("culled_bytes", culled.bytes, "bytes", "bytes of these blocks"),
	ROW("culled_too_early", culled.early, "blocks",
	    "short-lived blocks that were sent one by one, for lack of room"),
	{0},
};
#undef ANSWER_OF
const struct answer recorded_answer = {"recorded", recorded_fields};

#define ANSWER_OF struct figures_info
static const struct answer_field figures_fields[] = {
	ROW("time_ns", time_ns, "ns", "since the start"),
	ROW("detailed_ns", detailed_ns, "ns", "when pss, dirty and clean were read; null: never",
	    .when = NO_MAX_OR_NULL, .may_be_null = true),
	ROW("rss", rss, "bytes", ""),
	ROW("rss_peak", rss_peak, "bytes", ""),
	ROW("pss", pss, "bytes", ""),
	ROW("anonymous", anonymous, "bytes", ""),
	ROW("swap", swap, "bytes", ""),
	ROW("address_space", address_space, "bytes", ""),
	ROW("dirty", dirty, "bytes", ""),
	ROW("clean", clean, "bytes", ""),
	ROW("minor_faults", minor_faults, NULL,
	    "page faults without disk access, since the program began"),
	ROW("major_faults", major_faults, NULL,
	    "page faults with disk access, since the program began"),
	{0},
};
#undef ANSWER_OF
static const struct answer figures_answer = {"process_figures", figures_fields};

#define ANSWER_OF struct allocator_info
static const struct answer_field allocator_fields[] = {
	ROW("time_ns", time_ns, "ns", "since the start"),
	ROW("took_ns", took_ns, "ns", "how long asking took"),
	ROW("arena", arena, "bytes", "as mallinfo2 of glibc says; so are all members below"),
	ROW("ordblks", ordblks, NULL, ""),
	ROW("hblks", hblks, NULL, ""),
	ROW("hblkhd", hblkhd, "bytes", ""),
	ROW("uordblks", uordblks, "bytes", ""),
	ROW("fordblks", fordblks, "bytes", ""),
	ROW("keepcost", keepcost, "bytes", ""),
	{0},
};
#undef ANSWER_OF
static const struct answer allocator_answer = {"allocator", allocator_fields};

#define ANSWER_OF struct recorded
static const struct answer_field looks_fields[] = {
	ROW_OBJECT("last", figures, figures_answer, "the figures at the last look"),
	ROW_OBJECT("most", figures_most, figures_answer, "the highest of each figure"),
	{0},
};
static const struct answer looks_answer = {"figures", looks_fields};

static const struct answer_field report_fields[] = {
	{.name = "figures",
	 .about = "the process as the kernel counts it; null: the agent never looked",
	 .kind = ANSWER_OBJECT,
	 .of = &looks_answer,
	 .may_be_null = true,
	 .when = TRUE_OR_NULL,
	 .if_at = offsetof(struct recorded, has_figures)},
	ROW_OBJECT("allocator", allocator, allocator_answer,
		   "what the allocator says of itself; null: it was not asked", .may_be_null = true,
		   .when = TRUE_OR_NULL, .if_at = offsetof(struct recorded, has_allocator)),
	ROW("ledger_adds_up", completeness.adds_up, NULL,
	    "all that was produced is stored or accounted for"),
	ROW("ledger_complete", completeness.complete, NULL,
	    "nothing that was to be recorded is missing"),
	{0},
};
#undef ANSWER_OF
const struct answer recorded_figures_answer = {"recorded_figures", report_fields};

/* ---- reading a recording ---- */

/* Tells whether any block has weights. A change of the mode or thinning may have sampled only a
 * part of the time. */
static bool any_weights(const struct recording *recording)
{
	for (uint32_t b = 0; b < recording_blocks(recording); b++)
		if (recording_zone(recording, b)->weighted)
			return true;
	return false;
}

static void read_mark(struct recorded *r, const struct mark_info *m)
{
	bool begins = m->kind == HEAPCAST__MARK_KIND__MARK_START ||
		      m->kind == HEAPCAST__MARK_KIND__MARK_MODE;

	r->changes += begins || m->kind == HEAPCAST__MARK_KIND__MARK_STOP;
	if (begins && !m->thread && m->value > r->most_interval)
		r->most_interval = m->value;
	if (m->kind == HEAPCAST__MARK_KIND__MARK_DELIVERY)
		r->delivery = m;
}

void recorded_of(const struct recording *recording, struct recorded *r)
{
	const struct process_info *p = recording_process(recording);
	const struct ledger_info *ledger = recording_ledger(recording);

	*r = (struct recorded){
		.id = *recording_id(recording),
		.process = *p,
		.duration_ns = recording_end_ns(recording),
		.watched_from_start = !p->ran_before_ns,
		.watched_to_end = p->ended && !watched_left(p),
		.whole = watched_whole(p),
		.unfreed = watched_unfreed(p),
		.live = !p->ended,
		.sampled = !p->origin.exact &&
			   (p->mode == HEAPCAST__MODE__MODE_SAMPLE || any_weights(recording)),
		.samples_refused = ledger->samples_refused,
		.most_interval = p->sample_interval,
		.culled = *recording_culled_totals(recording),
		.produced = ledger->produced,
		.lost = ledger->lost + ledger_missed_for_good(ledger),
		.figures = *recording_figures(recording),
		.figures_most = *recording_figures_most(recording),
		.allocator = *recording_allocator(recording),
	};
	r->has_figures = r->figures.time_ns != NO_TIME;
	r->has_allocator = r->allocator.time_ns != NO_TIME;
	account_end(r->end, sizeof(r->end), p);
	for (uint32_t i = 0; i < recording_marks(recording); i++)
		read_mark(r, recording_mark(recording, i));
	/* A recording has sums of short-lived blocks, or of what left the window of a flight
	 * recorder. Only the former has a time limit for short-lived blocks (cull_ns). */
	r->flight = !p->cull_ns && (r->culled.blocks || r->delivery);
	recording_completeness(recording, &r->completeness);
	recording_adds_up(recording, &r->reason);
}
