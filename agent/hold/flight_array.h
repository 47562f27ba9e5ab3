#pragma once
/*
 * Manages the array of the flight recorder: its records, holes and index. Only flight.c uses it,
 * and decides what to send.
 */
#include "agent/core/run.h"
#include "agent/hold/flight.h"
#include "proto/event.h"
#include "proto/columns.h"

#define FLIGHT_FREES_FROM 32 /* first kind of frees; a record stores it minus 16 */

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
	return (uint64_t)f->record[i].ticks * RUN_TICK_NS;
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

/* Returns true if a record can hold this event of the thread with this index. */
bool flight_fits(const struct event *event, uint32_t thread);
/* Returns the event of a record. */
struct event flight_event_of(const struct flight *flight, uint32_t i);
/* Returns the index entry of the live block at this address (its record number + 1), or the free
 * entry for it (0). */
uint32_t *flight_place_of(const struct flight *flight, uint64_t address);
void flight_index_put(struct flight *flight, uint32_t i);
/* Appends an event that fits. The caller has made room for two records. */
void flight_append(struct flight *flight, uint32_t thread, const struct event *event,
		   uint32_t node);
/* Turns the record into a hole: its event is no longer held. */
void flight_unhold(struct flight *flight, uint32_t i);
/* Removes the record's struct flight_more. */
void flight_remove_more(struct flight *flight, uint32_t i);
/* Moves all records to the front. */
void flight_close_holes(struct flight *flight);
