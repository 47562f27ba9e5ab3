#pragma once
/*
 * Thinning in the recording. If a program follows only a part of its recorded blocks (MARK_THINNED,
 * proto/thinning.h), the same part continues here and represents the rest. What is in use is from
 * then on an unbiased estimate, like blocks sampled at birth.
 *
 *        row       born             mark              end
 *                   |----------------|  censored
 *        survivor                    |-----------------|   of 1 block in 2, twice its weight
 *
 * Rows in use are of two kinds. Blocks sampled since the program's set was opened are in that set;
 * a halving of the set keeps one in two of them. The program follows all other blocks by their
 * addresses alone; each step of the level keeps one in two of them. The law determines which ones,
 * identically on both sides. For correctness, the program must follow every block that continues
 * here. A row that is mistaken for the wrong kind, or for both, is thinned unnecessarily, which
 * adds no bias. Therefore rows born at the moment of a mark count as older. Rows that were recorded
 * for certain since the set was opened, because they are as large as the interval or because their
 * thread is not sampled, are thinned as either kind.
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

/* Changes the law from this step on. Returns 0, -ENOMEM or an error of the rows' file. */
int thinned_take(struct pairing *pairing, const struct step *step);
/*
 * Thins a newborn block at once, if it is not in the program's set and fewer than all blocks are
 * followed. The block is alive and its row is `row`.
 */
int thinned_birth(struct pairing *pairing, const struct row_birth *birth, uint32_t row);
/* Records that estimates are coarse from this time on. */
void thinned_begin(struct pairing *pairing, uint64_t time_ns);
/* Returns how coarse this makes the estimates. */
struct thinned_info thinned_told(const struct pairing *pairing);
/* Resets the law, because an exec starts another program. */
void thinned_exec(struct pairing *pairing);
