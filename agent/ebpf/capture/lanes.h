#pragma once
/*
 * Manages the threads of a watched process, each of which is a lane of the stream: begins them,
 * puts their losses and counts into runs, and ends them. Only source.c calls this.
 */
#include "agent/ebpf/capture/hub.h"

/* Converts a stamp to stream time. */
static inline uint64_t watch_ns(const struct watch *w, uint64_t stamp)
{
	return stamp > w->start_ns ? stamp - w->start_ns : 0;
}

/* Returns how much a counter has grown. */
static inline uint64_t watch_grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Puts the beginning of the thread into the run. */
void lane_begin(struct watch *watch, struct run *run, uint32_t number, uint32_t tid,
		uint64_t stamp);
/* Begins new threads and marks ended ones: the ring holds all their records by now. Returns false
 * if the run is full. */
bool lanes_look(struct watch *watch, struct run *run, bool final, uint64_t now);
/* Returns by how much the thread's counts have grown since the last call. */
struct capture_counts lane_grow(struct watch_lane *lane, const struct capture_thread *thread);
/* Puts losses and closes ended threads. Call this when the ring is empty. Returns false if the run
 * is full. */
bool lanes_settle(struct watch *watch, struct run *run, uint64_t now);
