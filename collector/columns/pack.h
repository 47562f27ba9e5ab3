#pragma once
/*
 * Packed values: up to PACK_VALUES numbers of 64 bits in few bytes, by whichever of three ways is
 * shortest.
 *
 *   mode 0, one value    | 0 | value |
 *   mode 1, differences  | 1 | width | base | scale | exceptions | low bits of all |
 *                        | place, high bits of each exception |
 *   mode 2, dictionary   | 2 | entries | entries, as mode 0 or 1 | width |
 *                        | low bits of all: index of the entry |
 *
 * Mode 1: value = base + scale * x modulo 2^64. Most x fit into `width` bits (0 to PACK_WIDTH_MAX,
 * or 64: frame of reference); those that do not are exceptions, which have the rest of their bits
 * apart (PFOR: Zukowski et al., Super-Scalar RAM-CPU Cache Compression, ICDE 2006). Numbers are
 * varints; bits are packed least significant first, eight values to `width` bytes, the last eight
 * filled up with zeros.
 *
 * What is unpacked comes from outside: no input reads or writes beyond what is given, whatever it
 * says; whether the values make sense is for the caller to check.
 */
#include <stdint.h>

struct buf;
struct reader;

#define PACK_VALUES 4096
/* of a value that begins at any bit of a byte and lies within 8 bytes */
#define PACK_WIDTH_MAX 57
#define PACK_TICK      1000 /* a scale that is tried: the unit of agents' times */

/* Values that come again and again are looked up in a dictionary if that is shorter. */
enum pack_hint { PACK_PLAIN, PACK_REPEATS };

/* Appends `count` values, 1 to PACK_VALUES. Lack of memory shows in buf_error. */
void pack_values(struct buf *out, const uint64_t *values, uint32_t count, enum pack_hint hint);
/* Reads `count` values into `values`, which has room for PACK_VALUES. 0 or -EBADMSG. */
int unpack_values(struct reader *in, uint64_t *values, uint32_t count);
/* Passes over `count` values, to where unpack_values would go on: 0 wherever that says 0. Where
 * exceptions are is not looked at. */
int skip_values(struct reader *in, uint32_t count);
