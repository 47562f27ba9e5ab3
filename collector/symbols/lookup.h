#pragma once
/* What one ELF file knows of a row of addresses. Worker side: this and what it calls is where
 * hostile files are read. */
#include "collector/symbols/protocol.h"

/* Fills `answer` (empty before): a place for every address, or error and text. -ENOMEM if not even
 * that could be done. */
int lookup_file(int fd, const struct request *request, struct answer *answer);
