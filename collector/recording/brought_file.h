#pragma once
/* A symbol file that is embedded in a recording. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that is embedded in a recording: an ELF file, identified by its build id. */
struct brought_file {
	uint8_t build_id[32];
	uint32_t build_id_length;
	uint64_t size; /* in bytes, BROUGHT_FILE_MAX at most */
};
#define BROUGHT_FILE_MAX (512ull << 20)
