#pragma once
/*
 * Announcements of modules to the agent, through the ring's channel. One thread at a time: inside
 * of the lock of modules.c.
 */
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/preload/system/elf_image.h"
#include "proto/ring.h"

/* `first`: it is the program. `again`: it has been told to another agent, and nothing may be asked
 * of the system any more. false: there was no room in time; counted. */
bool announce_load(struct ring_header *ring, const struct dl_phdr_info *info,
		   const struct elf_image *image, uint32_t id, bool first, bool again);
void announce_end(struct ring_header *ring, uint32_t id);
