#pragma once
/* A recording that is open: a stream of the store, or a file of its own. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/recording/info.h"
#include "collector/recording/row_reader.h"
#include "proto/stack_columns.h"
#include "proto/culled.h"

struct err_text;
struct recording;

/* Opens the recording at `path` (store_find): what was derived from it already, if it fits, and all
 * whole frames that came after, births and deaths paired. -ENOENT; -EBADMSG: not a recording: the
 * sentence names the offset. A cut tail is not an error: see ledger_info.cut_bytes. `progress` (may
 * be NULL) is called now and then with bytes done and of how many; not 0 cancels (-ECANCELED). */
int recording_open(const char *path, int (*progress)(void *context, uint64_t done, uint64_t of),
		   void *context, struct recording **ret_recording, struct err_text *err);
void recording_close(struct recording *recording);
/* Reads what has been appended since. 1: something was; 0: nothing; negative errno. Readers must be
 * gone, and blocks that recording_block has handed out before are not valid any more. */
int recording_refresh(struct recording *recording, struct err_text *err);

const char *recording_path(const struct recording *recording);
/* Where something that was worked out of all of this recording may be kept beside its rows, under
 * that name: free *ret_path. It fits as long as *ret_frames, the bytes of frames that it was made
 * of, is the same. -ENOENT: nowhere, for it is a file by itself, or has not ended. */
int recording_keep(const struct recording *recording, const char *name, char **ret_path,
		   uint64_t *ret_frames);
const struct stream_id *recording_id(const struct recording *recording);
const struct process_info *recording_process(const struct recording *recording);
/* Whether somebody was writing it when it was looked at last; else it has ended, or was
 * interrupted. */
bool recording_is_growing(const struct recording *recording);
uint64_t recording_end_ns(const struct recording *recording); /* stream time of the last batch */
/* What was before this stream time is known: no older event follows. */
uint64_t recording_watermark_ns(const struct recording *recording);
uint64_t recording_rows(const struct recording *recording);
uint32_t recording_blocks(const struct recording *recording);
const struct row_block *recording_block(const struct recording *recording, uint32_t index);
uint32_t recording_modules(const struct recording *recording);
const struct module_info *recording_module(const struct recording *recording,
					   uint32_t number); /* 1..; NULL: no such */
uint32_t recording_threads(const struct recording *recording);
const struct thread_info *recording_thread(const struct recording *recording,
					   uint32_t number); /* 1..; NULL: no such */
uint32_t recording_nodes(const struct recording *recording);
const struct stack_node *recording_node(const struct recording *recording,
					uint32_t number); /* 1..; NULL: no such */
/* Names that the recording brings along for a place, innermost first: 1 and how many frames there
 * are (0: it is known that nobody can name it); 0: it says nothing of it. */
int recording_named(const struct recording *recording, uint32_t module, uint64_t offset,
		    uint32_t *ret_first, uint32_t *ret_count);
/* Those of a place are numbered from *ret_first on. */
struct named_frame recording_named_frame(const struct recording *recording, uint32_t index);
uint32_t recording_gaps(const struct recording *recording);
const struct gap_info *recording_gap(const struct recording *recording, uint32_t index);
uint32_t recording_unrecorded_count(const struct recording *recording);
const struct unrecorded_info *recording_unrecorded(const struct recording *recording,
						   uint32_t index);
uint32_t recording_marks(const struct recording *recording);
const struct mark_info *recording_mark(const struct recording *recording, uint32_t index);
/* In the order in which they came; at most 2^20 are kept (ledger_info.stored_apart counts all). */
uint32_t recording_other_events(const struct recording *recording);
const struct other_event_info *recording_other_event(const struct recording *recording,
						     uint32_t index);
const struct ledger_info *recording_ledger(const struct recording *recording);
const struct pairing_info *recording_pairing(const struct recording *recording);
/* The last that there are, and of each the highest that there was (of the faults: the sums at the
 * end). */
const struct figures_info *recording_figures(const struct recording *recording);
const struct figures_info *recording_figures_most(const struct recording *recording);
const struct allocator_info *recording_allocator(const struct recording *recording);

uint32_t recording_culled_count(const struct recording *recording);
const struct culled_row *recording_culled(const struct recording *recording, uint32_t index);
const struct culled_totals *recording_culled_totals(const struct recording *recording);

/* True if both equations hold, for the stream and for each thread. Else false, and `reason` (if not
 * NULL) says in a sentence which does not. A recording whose account adds up may lack much: see
 * completeness.h. */
bool recording_adds_up(const struct recording *recording, struct err_text *reason);

/* Rows that were kept beside the recording were damaged, and have been derived from the frames
 * again: a sentence that names the place. NULL: they were not. */
const char *recording_rederived(const struct recording *recording);
/* What its opening had to leave out or make anew: a sentence or several, with bytes and events.
 * False: nothing. What a writer is about to complete is not left out. */
bool recording_opening_news(const struct recording *recording, struct err_text *ret_news);
