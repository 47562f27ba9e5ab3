#pragma once
/*
 * The array of the flight recorder: its records, holes and index. Between flight.c, which decides
 * what goes, and flight_array.c.
 */
#include "agent/stream/batch.h"
#include "agent/hold/flight.h"
#include "proto/event.h"

#define FLIGHT_FREES_FROM 32 /* numbers of kinds: frees are 16 less in a record */

static inline struct flight_more *flight_more_of(const struct flight *f, uint32_t i)
{
	return f->record[i].more ? (struct flight_more *)(void *)&f->record[i + 1] : NULL;
}

static inline uint32_t flight_length_of(const struct flight *f, uint32_t i)
{
	return f->record[i].kind ? 1 + f->record[i].more : 1;
}

static inline uint64_t flight_time_of(const struct flight *f, uint32_t i)
{
	return (uint64_t)f->record[i].ticks * BATCH_TICK_NS;
}

static inline uint64_t flight_address_of(const struct flight *f, uint32_t i)
{
	return (uint64_t)f->record[i].address << 3;
}

static inline uint8_t flight_kind_of(const struct flight_record *x)
{
	return x->kind < FLIGHT_FREES_FROM / 2 ? (uint8_t)x->kind
					       : (uint8_t)(x->kind + FLIGHT_FREES_FROM / 2);
}

/* Is there a record that can hold this event of the thread with this index? */
bool flight_fits(const struct event *event, uint32_t thread);
/* The event of a record. */
struct event flight_event_of(const struct stream *stream, uint32_t i);
/* Where the index has the live block at this address (its number + 1), or would have it (0). */
uint32_t *flight_place_of(const struct flight *flight, uint64_t address);
void flight_index_put(struct flight *flight, uint32_t i);
/* Appends an event that fits. There is room for two records. */
void flight_append(struct stream *stream, uint32_t thread, const struct event *event,
		   uint32_t node);
/* The event of this record is held no more: it becomes a hole. */
void flight_unhold(struct stream *stream, uint32_t i);
/* Its struct flight_more is not needed any more. */
void flight_remove_more(struct flight *flight, uint32_t i);
/* Moves everything to the front. */
void flight_close_holes(struct flight *flight);
