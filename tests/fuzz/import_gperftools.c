/* What `collector import` makes of a file of the format gperftools. */
#include "tests/fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_import("gperftools", data, size);
}
