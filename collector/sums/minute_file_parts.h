#pragma once
/* What writing and reading share. See minute_file.h. */
#define MINUTE_FILE_MAGIC "HCMINUT2"
#define MINUTE_FILE_HEAD  92u

/* Sums in a block: enough that keyframes are a small part of a file. */
#define BLOCK_SUMS     16384u
#define BLOCK_SUMS_MAX (1u << 24)
#define STACKS_MAX     (1u << 22)
#define TEXTS_MAX      (1u << 24)
#define FILE_BYTES_MAX (1ull << 31)
