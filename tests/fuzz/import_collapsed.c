/* What `collector import` makes of a file of the format collapsed. */
#include "tests/fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_import("collapsed", data, size);
}
