#pragma once
/* Modes of recording, as people write them: full, sample, sample=BYTES, off. Their numbers are
 * those of enum Mode. */
#include <stddef.h>
#include <stdint.h>

/* 0 or -EINVAL; `ret_interval` 0: none was given. */
int mode_parse(const char *text, int *ret_mode, uint64_t *ret_interval);
/* The same the other way round; an interval of 0 is left out. Returns `out`. */
const char *mode_text(char *out, size_t size, int mode, uint64_t interval);
