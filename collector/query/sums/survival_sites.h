#pragma once
/*
 * The numbers by which survival.c judges a group of blocks: how many were freed at each age, and
 * how many are in use at each age. One pass over the rows counts them. Only survival.c uses this.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "collector/query/match/view.h"
#include "collector/query/sums/groups.h"
#include "collector/query/sweep/tally.h"

struct hiding;
struct matcher;
struct node_sums;

/* Class 0: below 2^10 ns; then two classes per doubling. */
#define CLASSES 96

/* A class of ages: the numbers of blocks that were freed at this age, and that have it and are in
 * use. */
struct survival_age {
	uint64_t freed, alive;
	/* In use, and not younger than young_ns. Sampled blocks are summed separately. */
	uint64_t blocks, bytes;
	struct tally *sampled; /* NULL: none */
	uint64_t late_bytes;   /* part of all these: allocated in the later half of the time */
};

struct survival_site {
	uint32_t any;	      /* one of its nodes */
	uint32_t node, frame; /* node: of the heaviest block in use; frame: the call site in
				 `any` */
	uint64_t heaviest;
	struct tally allocated, freed, young; /* young: in use, and younger than young_ns */
	struct tally late;		      /* in use, allocated in the later half of the time */
	uint64_t age_min, age_max, lifetime_max;
	uint64_t min_size, max_size, first_ns, last_ns;
	/* Only the classes that occur: there may be as many groups as backtraces. */
	struct survival_age *ages;
	uint32_t age_count, age_capacity;
	uint8_t age_index[CLASSES]; /* index + 1 */
};

struct survival_sites {
	const struct view *view;
	const struct hiding *hiding;
	struct survival_site **list;
	uint32_t count, capacity;
	struct survival_site **by_node; /* NULL: not needed yet */
	struct group_keys keys;
	struct map by_key; /* index + 1 */
	uint64_t young_ns, end_ns;
	uint64_t since_ns; /* start of the later half of the time; NO_TIME: the program has ended */
	bool apart;	   /* survivors count as alive, but not as allocated */
	bool known;	   /* what was allocated and freed, sizes and births come from known sums */
};

/* Makes empty groups with the parameters of `like`. Returns 0 or -ENOMEM; call survival_sites_done
 * in either case. */
int survival_sites_init(struct survival_sites *s, const struct survival_sites *like);
void survival_sites_done(struct survival_sites *s);
/* Adds the rows that the matcher selects. */
int survival_add_rows(struct survival_sites *s, const struct matcher *m, struct err_text *err);
/* With `known`: adds what was allocated and freed, sizes and births, from the sums of all rows.
 * Returns 0 or -ENOMEM. */
int survival_add_known(struct survival_sites *s, const struct node_sums *sums);
/* Returns the blocks in use of this age that are not younger than young_ns. */
struct tally survival_old(const struct survival_age *age);
