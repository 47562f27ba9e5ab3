#pragma once
/* What unit.ebpf.walk's program in the kernel leaves of a hit. */
#include <stdint.h>

#define SAMPLES	      8 /* threads */
#define SAMPLE_PAGES  16
#define SAMPLE_FRAMES 512

struct walk_sample {
	uint64_t hits;
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t saved[6];
	uint64_t miss_pc;
	uint32_t miss; /* enum walk_miss */
	uint32_t keep;
	uint32_t count;
	uint32_t copy_size;
	uint64_t pcs[SAMPLE_FRAMES];
	uint8_t copy[SAMPLE_PAGES * 4096];
};
