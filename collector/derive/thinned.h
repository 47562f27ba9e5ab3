#pragma once
/*
 * Where a program follows only a part of what it has on record (MARK_THINNED, proto/thinning.h),
 * the same part goes on here, and stands for the rest. So what is in use is an estimate without
 * bias from then on, as what is born sampled is.
 *
 *	row        born            mark                   end
 *	           |---------------|  censored
 *	survivor                   |----------------------|   of 1 block in 2, twice its weight
 *
 * All rows that are in use are of two kinds. What was sampled since the program's set was opened is
 * in that set: a halving of the set keeps one in two of these. All others the program follows by
 * their addresses alone: of these each step of the level keeps one in two. Which ones says the law,
 * to both sides alike; to be right here, all that goes on must be followed there. A row that is
 * taken for the wrong kind, or for both, is thinned although it need not be, which has no bias
 * either. So rows that are born at the moment of a mark are taken to be older; and those that were
 * recorded for certain since the set was opened, because they are as large as the interval or
 * because their thread is not sampled, are thinned as either kind.
 */
#include "collector/derive/pairing.h"
#include "collector/recording/row_reader.h"

static inline uint64_t thinned_pack(const struct thinning *law)
{
	return law->level | (uint64_t)law->cut << 8 | (uint64_t)law->keep << 16 |
	       (uint64_t)law->openings << 24 | (uint64_t)law->halvings << 40 |
	       (uint64_t)law->ahead << 56;
}

static inline struct thinning thinned_unpack(uint64_t seed, uint64_t packed)
{
	return (struct thinning){.seed = seed,
				 .level = (uint8_t)packed,
				 .cut = (uint8_t)(packed >> 8),
				 .keep = (uint8_t)(packed >> 16),
				 .ahead = (uint8_t)(packed >> 56),
				 .openings = (uint16_t)(packed >> 24),
				 .halvings = (uint16_t)(packed >> 40)};
}

/* The law is another one from this step on. 0, -ENOMEM, or what the rows' file says. */
int thinned_take(struct pairing *pairing, const struct step *step);
/* A block was born, has *row, and is alive: if it is not in the program's set, and less than all
 * are followed, it is thinned at once. */
int thinned_birth(struct pairing *pairing, const struct row_birth *birth, uint32_t row);
/* A thread is sampled at this interval from then on, for lack of room; 0: not any more. */
void thinned_interval(struct pairing *pairing, uint64_t time_ns, uint64_t interval);
/* How coarse that makes what is estimated. */
struct thinned_info thinned_told(const struct pairing *pairing);
/* Another program begins. */
void thinned_exec(struct pairing *pairing);
