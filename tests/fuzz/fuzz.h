#pragma once
/*
 * A fuzz target: a source in this folder that defines LLVMFuzzerTestOneInput, and inputs in
 * corpus/NAME. It aborts when a promise is broken; reading beyond an end is the sanitizers'
 * business.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise. */
static inline void must(bool holds)
{
	if (!holds)
		abort();
}

/* Reads every byte, so that a sanitizer sees what the callee claims is readable. */
static inline void fuzz_touch(const uint8_t *data, size_t size)
{
	static volatile uint8_t sink;

	for (size_t i = 0; i < size; i++)
		sink = (uint8_t)(sink ^ data[i]);
}
