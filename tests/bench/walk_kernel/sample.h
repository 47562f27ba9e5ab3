#pragma once
/* What the programs of bench.walk leave. */
#include <stdint.h>

#define BENCH_PAGES 32

struct bench_sample {
	uint64_t walks;
	uint64_t missed;
	uint64_t keep;
	uint64_t count;
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint32_t miss;
	uint32_t copy_size;
	uint8_t copy[BENCH_PAGES * 4096];
};
