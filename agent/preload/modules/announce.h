#pragma once
/*
 * Announces modules to the agent through the ring's channel. Only one thread at a time may call
 * this: the caller holds the lock of modules.c.
 */
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/elf_image.h"
#include "proto/ring.h"

/* `first` is set for the program itself. `again` is set if another agent already has the
 * announcement, and system calls may be forbidden by now. Returns false if the channel had no room
 * in time; this is counted. */
bool announce_load(struct ring_header *ring, const struct dl_phdr_info *info,
		   const struct elf_image *image, uint32_t id, bool first, bool again);
void announce_end(struct ring_header *ring, uint32_t id);
