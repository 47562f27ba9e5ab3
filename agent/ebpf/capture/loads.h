#pragma once
/*
 * Tracks what a watched process maps and unmaps: reads its mappings when they may have changed, and
 * puts the modules that have come or gone into runs. Only source.c calls this.
 */
#include "agent/ebpf/capture/hub.h"

/* Reads the mappings. Sets watch.modules_due if modules may have come or gone. */
void loads_look(struct watch *watch, uint64_t now);
/* Reads the mappings if it is time, but not while the ring still holds a report of a load. */
void loads_look_if_due(struct watch *watch, uint64_t now);
/* Reports the mappings of a new program before its events. */
void loads_meet_image(struct watch *watch);
/* Puts the next module that has come or gone into the run. The run must be empty, because the watch
 * has memory for one module. Returns false if no module is left. */
bool loads_put(struct watch *watch, struct run *run, uint64_t now);
