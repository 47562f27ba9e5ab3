#pragma once
/*
 * What a watched process maps and unmaps: reads its mappings when there is reason to, and puts the
 * modules that have come or gone into runs. For source.c alone.
 */
#include "agent/ebpf/capture/hub.h"

/* Reads the mappings. What is new is due then (watch.modules_due). */
void loads_look(struct watch *watch, uint64_t now);
/* The same if it is time. Not while the ring still holds a report of a load. */
void loads_look_if_due(struct watch *watch, uint64_t now);
/* Reports the mappings of a new program before its events. */
void loads_meet_image(struct watch *watch);
/* Puts the next module that has come or gone into the run, which must be empty: there is memory for
 * one. Returns false if there is none. */
bool loads_put(struct watch *watch, struct run *run, uint64_t now);
