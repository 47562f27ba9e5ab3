#pragma once
/* An open recording: a stream of the store, or a single file. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/info.h"
#include "collector/recording/row_reader.h"
#include "proto/stack_columns.h"
#include "proto/culled.h"

struct err_text;
struct recording;

/* Opens the recording at `path` (store_find). Loads the derived data if it fits, and reads all
 * whole frames behind it; births and deaths are paired. Returns 0; -ENOENT; -EBADMSG with a
 * sentence that names the offset if it is not a recording; or another negative errno. A cut tail is
 * not an error: see ledger_info.cut_bytes. `progress` (may be NULL) is called repeatedly with the
 * bytes done and the total; a result other than 0 cancels (-ECANCELED). */
int recording_open(const char *path, int (*progress)(void *context, uint64_t done, uint64_t of),
		   void *context, struct recording **ret_recording, struct err_text *err);
void recording_close(struct recording *recording);
/* Reads what was appended since. Returns 1 if there was something, 0 if not, or a negative errno.
 * All readers must have been freed. Blocks that recording_block returned before are no longer
 * valid. */
int recording_refresh(struct recording *recording, struct err_text *err);

/* Tells whether the recording has to be opened again to see more of it: it had no end, and was
 * compressed or restored meanwhile. */
bool recording_is_replaced(const struct recording *recording);
const char *recording_path(const struct recording *recording);
/* Returns in *ret_path the path for a file `name` with results computed from the whole recording,
 * beside its rows. The caller frees it. Such a file is valid as long as *ret_frames, the bytes of
 * frames, is the number that it was made from. Returns -ENOENT if the recording is a single file or
 * has not ended. */
int recording_keep(const struct recording *recording, const char *name, char **ret_path,
		   uint64_t *ret_frames);
/* Returns the version of what rows are derived by: what was computed from rows of another version
 * may be something else. */
uint32_t recording_rows_version(void);
const struct stream_id *recording_id(const struct recording *recording);
const struct process_info *recording_process(const struct recording *recording);
/* Returns true if a process was writing the recording at the last look. Otherwise the stream has
 * ended or was interrupted. */
bool recording_is_growing(const struct recording *recording);
uint64_t recording_end_ns(const struct recording *recording); /* stream time of the last batch */
/* Returns the stream time up to which the recording is complete: no older event follows. */
uint64_t recording_watermark_ns(const struct recording *recording);
uint64_t recording_rows(const struct recording *recording);
uint32_t recording_blocks(const struct recording *recording);
const struct row_block *recording_block(const struct recording *recording, uint32_t index);
uint32_t recording_modules(const struct recording *recording);
const struct module_info *recording_module(const struct recording *recording,
					   uint32_t number); /* from 1 on; else returns NULL */
uint32_t recording_threads(const struct recording *recording);
const struct thread_info *recording_thread(const struct recording *recording,
					   uint32_t number); /* from 1 on; else returns NULL */
uint32_t recording_nodes(const struct recording *recording);
const struct stack_node *recording_node(const struct recording *recording,
					uint32_t number); /* from 1 on; else returns NULL */
/* Finds the names that the recording itself has for a place, innermost first. Returns 1 with their
 * number; a number of 0 means that the place has no name. Returns 0 if the recording says nothing
 * about the place. */
int recording_named(const struct recording *recording, uint32_t module, uint64_t offset,
		    uint32_t *ret_first, uint32_t *ret_count);
/* Returns a frame of a place; `index` counts from *ret_first. */
struct named_frame recording_named_frame(const struct recording *recording, uint32_t index);
/* Parts of the stream that other collectors have, in the order in which they were told. */
uint32_t recording_parts(const struct recording *recording);
const struct part_info *recording_part(const struct recording *recording, uint32_t index);
/* The collector that has the beginning; "" if it is here. */
const char *recording_began_on(const struct recording *recording);
uint32_t recording_gaps(const struct recording *recording);
const struct gap_info *recording_gap(const struct recording *recording, uint32_t index);
uint32_t recording_unrecorded_count(const struct recording *recording);
const struct unrecorded_info *recording_unrecorded(const struct recording *recording,
						   uint32_t index);
uint32_t recording_marks(const struct recording *recording);
const struct mark_info *recording_mark(const struct recording *recording, uint32_t index);
/* In the order of arrival. At most 2^20 are kept; ledger_info.stored_apart counts all. */
uint32_t recording_other_events(const struct recording *recording);
const struct other_event_info *recording_other_event(const struct recording *recording,
						     uint32_t index);
const struct ledger_info *recording_ledger(const struct recording *recording);
const struct pairing_info *recording_pairing(const struct recording *recording);
/* Return the last reading, and the highest value of each figure (for faults: the sums at the
 * end). */
const struct figures_info *recording_figures(const struct recording *recording);
const struct figures_info *recording_figures_most(const struct recording *recording);
const struct allocator_info *recording_allocator(const struct recording *recording);

uint32_t recording_culled_count(const struct recording *recording);
const struct culled_row *recording_culled(const struct recording *recording, uint32_t index);
const struct culled_totals *recording_culled_totals(const struct recording *recording);

/* Returns true if the equations of ledger_info hold, for the stream and for each thread. Otherwise
 * `reason` (may be NULL) says in a sentence which one does not. A recording whose account adds up
 * may still lack much: see completeness.h. */
bool recording_adds_up(const struct recording *recording, struct err_text *reason);

/* Returns a sentence that names the place if saved rows were damaged and were derived again from
 * the frames; else NULL. */
const char *recording_rederived(const struct recording *recording);
/* Writes sentences that say, with bytes and events, what the opening had to skip or derive again.
 * Returns false if it was nothing. Data that a writer is about to complete does not count as
 * skipped. */
bool recording_opening_news(const struct recording *recording, struct err_text *ret_news);
