/* Stamps to nanoseconds. See clock.h. */
#include "agent/streamer/clock.h"

#include <time.h>

#include "base/ban.h"

#define CALIBRATION_NS 4000000
#define PAIR_TRIES     5
#define JUMP_NS	       1000000 /* an error above this is a suspend or a broken counter: the line jumps */

static uint64_t clock_read(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ns(void)
{
	return clock_read(CLOCK_REALTIME);
}

/* Counter and time at one moment: of some tries the one that took least. */
static void read_pair(uint64_t *ret_stamp, uint64_t *ret_ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = clock_counter();
		uint64_t ns = clock_monotonic_ns();
		uint64_t took = clock_counter() - before;

		if (took < best) {
			best = took;
			*ret_stamp = before + took / 2;
			*ret_ns = ns;
		}
	}
}

void clock_init(struct clock *c, uint32_t kind)
{
	uint64_t stamp, ns;

	*c = (struct clock){.kind = kind, .slope = 1};
	if (kind == RING_CLOCK_MONOTONIC || kind == RING_CLOCK_NONE)
		return;
	read_pair(&c->first_stamp, &c->first_ns);
	nanosleep(&(struct timespec){.tv_nsec = CALIBRATION_NS}, NULL);
	read_pair(&stamp, &ns);
	c->base_stamp = stamp;
	c->base_ns = ns;
	if (stamp > c->first_stamp)
		c->slope = (double)(ns - c->first_ns) / (double)(stamp - c->first_stamp);
}

uint64_t clock_stamp(const struct clock *c)
{
	return clock_is_counter(c) ? clock_counter() : clock_monotonic_ns();
}

uint64_t clock_ticks(const struct clock *c, uint64_t ns)
{
	return clock_is_counter(c) ? (uint64_t)((double)ns / c->slope) : ns;
}

void clock_update(struct clock *c)
{
	uint64_t stamp, ns, mapped;
	double slope, error;

	if (!clock_is_counter(c))
		return;
	read_pair(&stamp, &ns);
	if (stamp <= c->base_stamp || ns <= c->first_ns)
		return;
	mapped = clock_ns(c, stamp);
	error = (double)(int64_t)(ns - mapped);
	slope = (double)(ns - c->first_ns) / (double)(stamp - c->first_stamp);
	c->base_stamp = stamp;
	c->base_ns = mapped;
	c->slope = slope;
	if (error > JUMP_NS || error < -JUMP_NS) {
		c->base_ns = error > 0 ? ns : mapped;
		c->first_stamp = stamp;
		c->first_ns = ns;
		c->slope = error > 0 ? c->slope : c->slope / 2;
		return;
	}
	c->slope = slope * (1 + error / 1e9); /* meets the measured time in a second */
}
