#pragma once
/*
 * Packed values: up to PACK_VALUES 64-bit numbers in few bytes, in the shortest of three modes.
 *
 *   mode 0, one value    | 0 | value |
 *   mode 1, differences  | 1 | width | base | scale | exceptions | low bits of all |
 *                        | place, high bits of each exception |
 *   mode 2, dictionary   | 2 | entries | entries, as mode 0 or 1 | width |
 *                        | low bits of all: index of the entry |
 *
 * Mode 1: value = base + scale * x modulo 2^64. Most x fit into `width` bits (0 to PACK_WIDTH_MAX,
 * or 64: frame of reference). The others are exceptions, whose remaining bits are stored separately
 * (PFOR: Zukowski et al., Super-Scalar RAM-CPU Cache Compression, ICDE 2006). Numbers are varints.
 * Bits are packed least significant first, eight values to `width` bytes; the last group is padded
 * with zeros.
 *
 * The unpacker accepts untrusted input: it never reads or writes outside the given memory. The
 * caller checks that the values make sense.
 */
#include <stdint.h>

struct buf;
struct reader;

#define PACK_VALUES 4096
/* a value that begins at any bit of a byte fits into 8 bytes */
#define PACK_WIDTH_MAX 57
#define PACK_TICK      1000 /* a scale that the packer tries: the unit of agents' times */

/* PACK_REPEATS: values repeat, so the packer also tries a dictionary. */
enum pack_hint { PACK_PLAIN, PACK_REPEATS };

/* Appends `count` values, 1 to PACK_VALUES. Shortage of memory shows in buf_error. */
void pack_values(struct buf *out, const uint64_t *values, uint32_t count, enum pack_hint hint);
/* Reads `count` values into `values`, which has room for PACK_VALUES. Returns 0 or -EBADMSG. */
int unpack_values(struct reader *in, uint64_t *values, uint32_t count);
/*
 * Skips `count` values and stops where unpack_values would stop. Returns 0 wherever unpack_values
 * does; it does not check the places of exceptions.
 */
int skip_values(struct reader *in, uint32_t count);
