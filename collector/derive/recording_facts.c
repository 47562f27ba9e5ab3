/* Facts of a recording that need no pass over its rows. recording.h describes the interface. */
#include <errno.h>
#include <stdio.h>

#include "collector/recording/info.h"
#include "collector/recording/recording.h"
#include "collector/derive/recording_parts.h"
#include "collector/derive/state.h"
#include "collector/recording/stream_id.h"
#include "proto/stack_columns.h"
#include "proto/culled.h"
#include "base/ban.h"

int recording_keep(const struct recording *r, const char *name, char **ret_path,
		   uint64_t *ret_frames)
{
	if (!r->derived.folder || !r->derived.generation || !r->definitions.process.ended)
		return -ENOENT;
	*ret_frames = r->scan.offset;
	return asprintf(ret_path, "%s/%s", r->derived.folder, name) < 0 ? -ENOMEM : 0;
}

uint32_t recording_rows_version(void)
{
	return STATE_VERSION;
}

bool recording_is_replaced(const struct recording *r)
{
	return !r->definitions.process.ended && recording_file_is_replaced(&r->file, r->path);
}

const char *recording_path(const struct recording *r)
{
	return r->path;
}

const struct stream_id *recording_id(const struct recording *r)
{
	return &r->id;
}

const struct process_info *recording_process(const struct recording *r)
{
	return &r->definitions.process;
}

bool recording_is_growing(const struct recording *r)
{
	return !r->flushed;
}

uint64_t recording_end_ns(const struct recording *r)
{
	return r->end_ns;
}

uint64_t recording_watermark_ns(const struct recording *r)
{
	return r->watermark_ns;
}

uint64_t recording_rows(const struct recording *r)
{
	return r->rows.count;
}

uint32_t recording_blocks(const struct recording *r)
{
	return r->rows.slot_count;
}

uint32_t recording_modules(const struct recording *r)
{
	return r->definitions.module_count;
}

const struct module_info *recording_module(const struct recording *r, uint32_t number)
{
	return number && number <= r->definitions.module_count ? r->definitions.modules[number - 1]
							       : NULL;
}

uint32_t recording_threads(const struct recording *r)
{
	return r->definitions.thread_count;
}

const struct thread_info *recording_thread(const struct recording *r, uint32_t number)
{
	return number && number <= r->definitions.thread_count ? r->definitions.threads[number - 1]
							       : NULL;
}

uint32_t recording_nodes(const struct recording *r)
{
	return r->definitions.nodes.count;
}

const struct stack_node *recording_node(const struct recording *r, uint32_t number)
{
	return number && number <= r->definitions.nodes.count
		       ? &r->definitions.nodes.list[number - 1]
		       : NULL;
}

int recording_named(const struct recording *r, uint32_t module, uint64_t offset,
		    uint32_t *ret_first, uint32_t *ret_count)
{
	const struct names_place *place = names_find(&r->definitions.names, module, offset);

	if (!place)
		return 0;
	*ret_first = place->first;
	*ret_count = place->count;
	return 1;
}

struct named_frame recording_named_frame(const struct recording *r, uint32_t index)
{
	const struct names *n = &r->definitions.names;
	struct name_frame frame = {0};

	if (index < n->frame_count)
		frame = n->frames[index];
	return (struct named_frame){names_text(n, frame.function), names_text(n, frame.file),
				    frame.line};
}

uint32_t recording_parts(const struct recording *r)
{
	return r->definitions.part_count;
}

const struct part_info *recording_part(const struct recording *r, uint32_t index)
{
	return &r->definitions.parts[index];
}

const char *recording_began_on(const struct recording *r)
{
	const struct part_info *first = r->definitions.parts;

	return r->definitions.part_count && first->lacking && first->from == 1 ? first->host : "";
}

uint32_t recording_gaps(const struct recording *r)
{
	return r->definitions.gap_count;
}

const struct gap_info *recording_gap(const struct recording *r, uint32_t index)
{
	return index < r->definitions.gap_count ? &r->definitions.gaps[index] : NULL;
}

uint32_t recording_unrecorded_count(const struct recording *r)
{
	return r->definitions.unrecorded_count;
}

const struct unrecorded_info *recording_unrecorded(const struct recording *r, uint32_t index)
{
	return index < r->definitions.unrecorded_count ? &r->definitions.unrecorded[index] : NULL;
}

uint32_t recording_marks(const struct recording *r)
{
	return r->definitions.mark_count;
}

const struct mark_info *recording_mark(const struct recording *r, uint32_t index)
{
	return index < r->definitions.mark_count ? &r->definitions.marks[index] : NULL;
}

const struct ledger_info *recording_ledger(const struct recording *r)
{
	return &r->ledger;
}

const struct pairing_info *recording_pairing(const struct recording *r)
{
	return &r->pairing.info;
}

const struct figures_info *recording_figures(const struct recording *r)
{
	return &r->definitions.figures;
}

const struct figures_info *recording_figures_most(const struct recording *r)
{
	return &r->definitions.figures_most;
}

const struct allocator_info *recording_allocator(const struct recording *r)
{
	return &r->definitions.allocator;
}

uint32_t recording_culled_count(const struct recording *r)
{
	return r->culled.count;
}

const struct culled_row *recording_culled(const struct recording *r, uint32_t index)
{
	return index < r->culled.count ? &r->culled.list[index] : NULL;
}

const struct culled_totals *recording_culled_totals(const struct recording *r)
{
	return &r->culled.totals;
}

uint32_t recording_other_events(const struct recording *r)
{
	return r->other_events.count;
}

const struct other_event_info *recording_other_event(const struct recording *r, uint32_t index)
{
	return index < r->other_events.count ? &r->other_events.list[index] : NULL;
}
