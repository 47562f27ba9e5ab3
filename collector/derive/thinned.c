/* Thins rows as the program thins its set. thinned.h describes the rules. */
#include "collector/derive/thinned.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collector/columns/row_block.h"
#include "collector/recording/row_reader.h"
#include "base/ban.h"

/*
 * If nothing was seen at a sampling rate of 1, up to this much may exist in 95 of 100 cases,
 * because exp(-3) is 0.05.
 */
#define THINNED_UNSEEN 3

#define COLUMNS                                                                                    \
	(ROWS_ADDRESS | ROWS_SIZE | ROWS_BIRTH | ROWS_END | ROWS_WEIGHT | ROWS_STACK |             \
	 ROWS_THREAD | ROWS_KIND | ROWS_DEATH_KIND)

/* A row in use that has to be judged. */
struct candidate {
	struct row_birth birth;
	uint32_t row;
};

struct judging {
	struct pairing *pairing;
	uint64_t time_ns;
	unsigned level;	   /* the new level; 0: the level does not change */
	unsigned halvings; /* number of halvings, the last of which is the law's */
	struct rows_block *block;
	struct buf spare;
	struct thinned_sums *sums;
	struct candidate *list; /* copied from a block, because appending rows may seal it */
	uint32_t count;
};

static bool is_sampled(const struct row_birth *b)
{
	return b->weight > b->size && b->weight > 1;
}

/* in_set: certainly in the set; perhaps_in_set: possibly. */
static bool in_set(const struct pairing_thinned *t, const struct row_birth *b)
{
	unsigned survivor = b->kind & ROW_SURVIVOR;

	return is_sampled(b) && b->birth_ns > t->opened_ns && (!survivor || survivor == ROW_HALVED);
}

static bool perhaps_in_set(const struct pairing_thinned *t, const struct row_birth *b)
{
	return b->birth_ns > t->opened_ns && (b->kind & ROW_SURVIVOR) != ROW_THINNED;
}

static unsigned outlives_halvings(const struct judging *j, const struct row_birth *b,
				  bool *ret_outlives)
{
	const struct thinning *law = &j->pairing->thinned.law;

	if (!perhaps_in_set(&j->pairing->thinned, b) || thinning_is_large(law->keep, b->size))
		return 0;
	*ret_outlives = true;
	for (unsigned i = 0; i < j->halvings; i++)
		*ret_outlives &=
			thinning_keeps(law->seed, (uint16_t)(law->halvings - i), b->address);
	return j->halvings;
}

/*
 * Returns how many like this block the survivor represents, as a power of 2, and whether this block
 * continues. Returns 0 if the block is not concerned.
 */
static unsigned stands_for(const struct judging *j, const struct row_birth *b, bool *ret_goes_on)
{
	const struct thinning *law = &j->pairing->thinned.law;
	unsigned from = thinning_level(law, b->level, b->size);
	unsigned to = thinning_level(law, j->level, b->size);

	if (j->halvings)
		return outlives_halvings(j, b, ret_goes_on);
	if (in_set(&j->pairing->thinned, b) || from >= to)
		return 0;
	*ret_goes_on = thinning_follows(law->seed, to, b->address);
	return to - from;
}

static uint64_t times(uint64_t weight, unsigned power)
{
	return power < 64 && weight <= UINT64_MAX >> power ? weight << power : UINT64_MAX;
}

static uint64_t thinned_weight_of(const struct row_birth *b)
{
	return is_sampled(b) ? b->weight : b->size ? b->size : 1;
}

static void add_product(uint64_t *sum, uint64_t a, uint64_t b)
{
	uint64_t product;

	if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(*sum, product, sum))
		*sum = UINT64_MAX;
}

static void add_judged(struct thinned_sums *sums, const struct row_birth *b, unsigned power)
{
	uint64_t size = b->size ? b->size : 1, weight = thinned_weight_of(b),
		 next = times(weight, power);

	add_product(&sums->bytes, weight, 1);
	add_product(&sums->bytes_squared, weight, next);
	add_product(&sums->blocks, weight / size, 1);
	add_product(&sums->blocks_squared, weight / size, next / size);
}

static int thinned_go_on(struct judging *j, const struct candidate *c, unsigned power)
{
	struct pairing *p = j->pairing;
	struct row_birth next = c->birth;
	unsigned survivor = !j->halvings		     ? ROW_THINNED
			    : in_set(&p->thinned, &c->birth) ? ROW_HALVED
							     : ROW_EITHER;
	uint64_t *live;
	uint32_t row;
	int r;

	next.birth_ns = j->time_ns;
	next.weight = times(thinned_weight_of(&c->birth), power);
	next.chain_previous = NO_BLOCK;
	next.kind = (uint8_t)((c->birth.kind & ROW_KIND) | survivor);
	next.level = (uint8_t)(j->halvings ? c->birth.level : j->level);
	if (rows_full(p->rows))
		return 0;
	r = rows_append(p->rows, &next, &row);
	if (r < 0)
		return r;
	p->thinned.survivors++;
	live = map_put(&p->live, c->birth.address, NULL);
	if (!live)
		return -ENOMEM;
	*live = row;
	return 0;
}

static int thinned_judge(struct judging *j, const struct candidate *c)
{
	bool goes_on = false;
	unsigned power = stands_for(j, &c->birth, &goes_on);
	int r;

	if (!power)
		return 0;
	add_judged(j->sums, &c->birth, power);
	r = rows_end(j->pairing->rows, c->row,
		     &(struct row_death){.time_ns = j->time_ns, .end = BLOCK_CENSORED});
	if (r < 0)
		return r;
	if (goes_on)
		return thinned_go_on(j, c, power);
	map_remove(&j->pairing->live, c->birth.address, &(uint64_t){0});
	return 0;
}

/* ---- all rows in use ---- */

/* Blocks born at or before this time are not concerned. */
static uint64_t judged_ns(const struct judging *j)
{
	const struct pairing_thinned *t = &j->pairing->thinned;

	return j->halvings ? t->opened_ns : t->judged_ns[j->level];
}

static void list_rows(struct judging *j, const struct row_block *v)
{
	const struct thinning *law = &j->pairing->thinned.law;

	j->count = 0;
	for (uint32_t i = 0; i < v->count; i++) {
		bool survivor = v->kind[i] & ROW_SURVIVOR;

		if (v->end[i] != BLOCK_IN_USE)
			continue;
		if (v->birth_ns[i] <= judged_ns(j) ||
		    (!j->halvings && !thinning_level(law, j->level, v->size[i])))
			continue;
		j->list[j->count++] = (struct candidate){
			.birth = {.address = v->address[i],
				  .size = v->size[i],
				  .birth_ns = v->birth_ns[i],
				  .weight = v->weight ? v->weight[i] : 0,
				  .stack = v->stack[i],
				  .thread = v->thread[i],
				  .kind = v->kind[i],
				  .level = survivor ? v->death_kind[i] : 0},
			.row = (uint32_t)(v->first_row + i),
		};
	}
}

static int judge_block(struct judging *j, uint32_t index)
{
	static const struct block_limits any = {UINT32_MAX, UINT32_MAX, UINT64_MAX};
	const struct rows *rows = j->pairing->rows;
	const struct row_block *v;
	int r = 0;

	v = rows_zone(rows, index);
	if (!rows_in_use(rows, index) || v->max.birth_ns <= judged_ns(j))
		return 0;
	if (!rows->slots[index].open) {
		if (!j->block && !(j->block = block_new(0)))
			return -ENOMEM;
		r = rows_wait(j->pairing->rows);
		if (!r)
			r = rows_read(rows, index, COLUMNS, &any, j->block, &j->spare, NULL);
		v = &j->block->view;
	}
	if (r < 0)
		return r;
	list_rows(j, v);
	for (uint32_t i = 0; !r && i < j->count; i++)
		r = thinned_judge(j, &j->list[i]);
	return r;
}

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Returns how much may exist unseen of `sum` bytes or blocks of which only a part continues; at
 * most all of it.
 */
static uint64_t unseen(uint64_t sum, uint64_t product)
{
	uint64_t most = 0;

	add_product(&most, sum ? product / sum : 0, THINNED_UNSEEN);
	return most < sum ? most : sum;
}

static void tell_sums(struct thinned_info *info, const struct thinned_sums *sums)
{
	info->alive_bytes = at_least(info->alive_bytes, unseen(sums->bytes, sums->bytes_squared));
	info->alive_blocks =
		at_least(info->alive_blocks, unseen(sums->blocks, sums->blocks_squared));
}

/* Rows that are appended meanwhile need no judgement. */
static int judge_all(struct pairing *p, uint64_t time_ns, unsigned level, unsigned halvings)
{
	struct thinned_sums sums = {0};
	struct judging j = {.pairing = p,
			    .time_ns = time_ns,
			    .level = level,
			    .halvings = halvings,
			    .sums = &sums};
	uint32_t blocks = p->rows->slot_count;
	int r = rows_settle(p->rows); /* applies late deaths, so that dead blocks are not judged */

	if (r < 0)
		return r;
	j.list = malloc(ROWS_PER_BLOCK * sizeof(*j.list));
	if (!j.list)
		return -ENOMEM;
	for (uint32_t i = 0; !r && i < blocks; i++)
		r = judge_block(&j, i);
	free(j.list);
	block_free(j.block);
	buf_done(&j.spare);
	tell_sums(&p->thinned.info, &sums);
	return r;
}

void thinned_begin(struct pairing *p, uint64_t time_ns)
{
	struct thinned_info *info = &p->thinned.info;

	if (!info->from_ns || info->from_ns > time_ns)
		info->from_ns = time_ns ? time_ns : 1;
}

struct thinned_info thinned_told(const struct pairing *p)
{
	struct thinned_info info = p->thinned.info;

	tell_sums(&info, &p->thinned.births);
	return info;
}

/* Returns true if a precedes b. Both count up and wrap at 65,536. */
static bool is_before(uint16_t a, uint16_t b)
{
	return (int16_t)(uint16_t)(a - b) < 0;
}

/*
 * Two threads may report the law at the same time. If a mark's state is older than that of the last
 * one, only its level counts, or nothing (false).
 */
static bool not_older(struct thinning *law, const struct thinning *before)
{
	if (is_before(law->openings, before->openings))
		return false;
	if (law->openings == before->openings && is_before(law->halvings, before->halvings)) {
		law->halvings = before->halvings;
		law->keep = before->keep;
	}
	return true;
}

int thinned_take(struct pairing *p, const struct step *s)
{
	struct pairing_thinned *t = &p->thinned;
	const struct thinning before = t->law;
	struct thinning law = thinned_unpack(s->size, s->weight);
	bool opened = t->told ? law.openings != before.openings : law.openings != 0;
	uint16_t halvings;
	unsigned level = law.level > before.level ? law.level : 0;
	int r = 0;

	if (t->told && !not_older(&law, &before))
		return 0;
	halvings = (uint16_t)(law.halvings - before.halvings);
	t->law = law;
	t->told = true;
	if (level)
		thinned_begin(p, s->time_ns);
	/* Halvings before the set was reopened have no effect any more. */
	if (!opened && halvings)
		r = judge_all(p, s->time_ns, 0, halvings < 64 ? halvings : 64);
	if (opened) {
		for (unsigned i = 0; i <= THINNING_LEVEL_MAX; i++)
			if (t->judged_ns[i] > t->opened_ns)
				t->judged_ns[i] = t->opened_ns;
		t->opened_ns = s->time_ns;
		level = law.level;
	}
	if (!r && level)
		r = judge_all(p, s->time_ns, level, 0);
	for (unsigned i = 1; i <= level; i++)
		t->judged_ns[i] = s->time_ns;
	return r;
}

int thinned_birth(struct pairing *p, const struct row_birth *birth, uint32_t row)
{
	struct candidate c = {.birth = *birth, .row = row};
	struct judging j = {.pairing = p,
			    .time_ns = birth->birth_ns,
			    .level = p->thinned.law.level,
			    .sums = &p->thinned.births};

	return !j.level || is_sampled(birth) ? 0 : thinned_judge(&j, &c);
}

void thinned_exec(struct pairing *p)
{
	struct pairing_thinned t = {.survivors = p->thinned.survivors,
				    .births = p->thinned.births,
				    .info = p->thinned.info};

	p->thinned = t;
}
