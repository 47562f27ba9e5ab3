/* The place_own of processors whose arch/ folder has no place.c. They use the entries that
 * agent/unwind/place.c finds. */
#include <elf.h>

#include "agent/unwind/place.h"

const struct place_reader place_own = {.machine = EM_NONE};
