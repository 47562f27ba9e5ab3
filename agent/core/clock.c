/* Converts stamps to nanoseconds. See clock.h. */
#include "agent/core/clock.h"

#include <time.h>

#include "base/ban.h"

#define CALIBRATION_NS 4000000
#define PAIR_TRIES     5
/* A larger error means that the machine slept or the counter is broken. */
#define JUMP_NS	  1000000
#define BEND_MOST 0.9 /* of the slope: how much a bend may slow the line down while it is ahead */

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

uint64_t clock_boot_ns(void)
{
	return clock_read(CLOCK_BOOTTIME);
}

uint64_t clock_slept_ns(void)
{
	uint64_t best = UINT64_MAX, slept = 0;

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = clock_monotonic_ns();
		uint64_t boot = clock_read(CLOCK_BOOTTIME);
		uint64_t took = clock_monotonic_ns() - before;

		if (took < best) {
			best = took;
			slept = boot > before ? boot - before : 0;
		}
	}
	return slept;
}

/* Reads counter and time at the same moment: the fastest of several tries. */
static void read_pair(uint64_t *ret_stamp, uint64_t *ret_ns)
{
	uint64_t best = UINT64_MAX;

	/* Silences a compiler that does not see that the first try always sets both. */
	*ret_stamp = *ret_ns = 0;
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
	c->rate = c->slope;
}

uint64_t clock_stamp(const struct clock *c)
{
	return clock_is_counter(c) ? clock_counter() : clock_monotonic_ns();
}

uint64_t clock_ticks(const struct clock *c, uint64_t ns)
{
	return clock_is_counter(c) ? (uint64_t)((double)ns / c->slope) : ns;
}

bool clock_strayed(const struct clock *c, uint64_t stamp)
{
	return clock_is_counter(c) &&
	       (stamp < c->base_stamp || clock_ns(c, stamp) > clock_monotonic_ns() + JUMP_NS);
}

/* Starts the line anew, through this point. */
static void restart(struct clock *c, uint64_t stamp, uint64_t ns)
{
	c->first_stamp = c->base_stamp = stamp;
	c->first_ns = c->base_ns = ns;
	c->slope = c->rate;
}

/* Corrects a line that is ahead of the time. After a sleep no stamp lies in the middle of the leap,
 * so the line may break there. A smaller error is corrected slowly, because the line must never
 * step back. */
static void fall_back(struct clock *c, uint64_t stamp, uint64_t ns)
{
	uint64_t passed = stamp - c->base_stamp, mapped = clock_ns(c, stamp);
	double awake = ns > c->base_ns ? (double)(ns - c->base_ns) / c->rate : 0;
	double bend = (double)(mapped - ns) / 1e9;

	if (awake < (double)passed / 2) {
		c->break_stamp = c->base_stamp + passed / 2;
		c->before.stamp = c->base_stamp;
		c->before.ns = c->base_ns;
		c->before.slope = c->slope;
		restart(c, stamp, ns);
		return;
	}
	restart(c, stamp, ns);
	c->base_ns = mapped;
	c->slope = c->rate * (1 - (bend < BEND_MOST ? bend : BEND_MOST));
}

void clock_update(struct clock *c)
{
	uint64_t stamp, ns;
	double error;

	if (!clock_is_counter(c))
		return;
	read_pair(&stamp, &ns);
	if (stamp < c->base_stamp) { /* the counter has restarted */
		restart(c, stamp, ns);
		c->break_stamp = 0;
		return;
	}
	if (stamp == c->base_stamp || ns <= c->first_ns)
		return;
	error = (double)(int64_t)(ns - clock_ns(c, stamp));
	if (error > JUMP_NS) {
		restart(c, stamp, ns);
		return;
	}
	if (error < -JUMP_NS) {
		fall_back(c, stamp, ns);
		return;
	}
	c->base_ns = clock_ns(c, stamp);
	c->base_stamp = stamp;
	c->rate = (double)(ns - c->first_ns) / (double)(stamp - c->first_stamp);
	c->slope = c->rate * (1 + error / 1e9); /* meets the measured time in a second */
}
