#pragma once
/*
 * Parses and formats recording modes as people write them: full, sample, sample=BYTES, off. The
 * numbers are those of enum Mode.
 */
#include <stddef.h>
#include <stdint.h>

/* Parses a mode. Returns 0 or -EINVAL. `*ret_interval` is 0 if the text gives no interval. */
int mode_parse(const char *text, int *ret_mode, uint64_t *ret_interval);
/* Formats a mode, without the interval if that is 0. Returns `out`. */
const char *mode_text(char *out, size_t size, int mode, uint64_t interval);
