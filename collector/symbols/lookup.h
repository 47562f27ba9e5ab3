#pragma once
/*
 * Looks up a list of addresses in one ELF file. Worker side: this function and its callees read
 * hostile files.
 */
#include "collector/symbols/protocol.h"

/*
 * Fills in `answer`, which is empty before: a place for every address, or an error and a text.
 * Returns 0, or -ENOMEM if not even that was possible.
 */
int lookup_file(int fd, const struct request *request, struct answer *answer);
