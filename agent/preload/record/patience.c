/* Decides how long a thread may wait for the agent; see patience.h. */
#include "agent/preload/record/patience.h"

#include <errno.h>

#include "agent/preload/record/slice.h"
#include "agent/preload/system/state.h"
#include "agent/preload/record/strict.h"
#include "agent/preload/system/sys.h"

#include "agent/preload/poison.h"

#define NS_PER_MS	 1000000u
#define NS_PER_US	 1000u
#define BLOCK_PIECE_NS	 20000000u
#define THIN_PIECE_NS	 1000000u
#define THIN_LEAST_NS	 100000u /* a shorter wait is not worth its system call */
#define LATE_NS		 500000u /* of the budget, reserved for timers that fire late */
#define HEART_SILENCE_NS 1100000000u
/* the most that one look adds: BLOCK_PIECE_NS, and the time to return */
#define HEART_LOOK_NS 25000000u

/* Number of pieces that overlap a window that ends now, or a wait that began before the window. */
#define WINDOW_PIECES ((RING_WAIT_WINDOW_NS >> RING_WAIT_SHIFT) + 3)
static_assert(WINDOW_PIECES <= RING_WAIT_PIECES, "each has a word of its own");
static_assert(THIN_PIECE_NS < 1u << RING_WAIT_SHIFT, "a wait lies in two pieces at most");

/* sched.h defines these only for some of the standards that can be requested. */
#define CLASS_FIFO     1
#define CLASS_RR       2
#define CLASS_DEADLINE 6
#define CLASS_MASK     0xff /* above: SCHED_RESET_ON_FORK */

/* The wait budget. */

/* Adds `by`, which may be negative, to the current piece. The word of an expired piece starts anew;
 * that of a later piece is left alone. */
static void charge(struct ring_waits *waits, uint64_t now, int64_t by)
{
	uint32_t piece = (uint32_t)(now >> RING_WAIT_SHIFT);
	uint64_t *word = &waits->piece[piece % RING_WAIT_PIECES];
	uint64_t was = __atomic_load_n(word, __ATOMIC_SEQ_CST), is;

	do {
		bool same = was >> 32 == piece;
		int64_t sum = (same ? (int64_t)(uint32_t)was : 0) + by;

		if (!same && (int32_t)((uint32_t)(was >> 32) - piece) > 0)
			return;
		if (sum < 0)
			sum = 0;
		if (sum > UINT32_MAX)
			sum = UINT32_MAX;
		is = (uint64_t)piece << 32 | (uint64_t)sum;
	} while (!__atomic_compare_exchange_n(word, &was, is, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
}

static uint64_t charged(const struct ring_waits *waits, uint64_t now)
{
	uint32_t piece = (uint32_t)(now >> RING_WAIT_SHIFT);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < WINDOW_PIECES; i++, piece--) {
		uint64_t word =
			__atomic_load_n(&waits->piece[piece % RING_WAIT_PIECES], __ATOMIC_SEQ_CST);

		if (word >> 32 == piece)
			sum += (uint32_t)word;
	}
	return sum;
}

/* Takes a share of the budget. Each thread takes first and looks afterwards, so threads that take
 * at the same time never get the same share. */
static uint64_t patience_take(struct ring_waits *waits, uint64_t now)
{
	const uint64_t most = RING_WAIT_MOST_NS - LATE_NS;
	uint64_t want = THIN_PIECE_NS, over, sum = charged(waits, now);

	if (sum + THIN_LEAST_NS > most)
		return 0;
	charge(waits, now, (int64_t)want);
	sum = charged(waits, now);
	over = sum > most ? sum - most : 0;
	if (over + THIN_LEAST_NS > want)
		over = want;
	if (over)
		charge(waits, now, -(int64_t)over);
	return want - over;
}

/* Settles the piece that began at p->now. */
static void patience_settle(struct patience *p, uint64_t now)
{
	uint64_t waited = now - p->now, late;

	if (p->taken_ns > waited)
		charge(&p->ring->waits, p->now, (int64_t)waited - (int64_t)p->taken_ns);
	late = waited > p->taken_ns ? waited - p->taken_ns : 0;
	if (late > RING_WAIT_MOST_NS)
		late = RING_WAIT_MOST_NS;
	if (p->taken_ns && late)
		charge(&p->ring->waits, now, (int64_t)late);
	p->taken_ns = 0;
}

static bool is_real_time(void)
{
	long class = sys_call(SYS_sched_getscheduler, 0);

	if (class < 0)
		return class == -EPERM; /* the call is refused: when in doubt, do not wait */
	class &= CLASS_MASK;
	return class == CLASS_FIFO || class == CLASS_RR || class == CLASS_DEADLINE;
}

/* The agent's heartbeat. */

/* Returns true if the agent is silent for a single waiting thread, which has looked for 1.1 s, at
 * least 44 times. Time in which this thread was due to look but did not run is not held against the
 * agent: the cause may have stopped both, and on an overloaded machine neither runs in time. */
static bool is_silent(struct patience *p)
{
	uint32_t beat = __atomic_load_n(&p->ring->heartbeat, __ATOMIC_RELAXED);
	uint64_t passed = p->now - p->looked;

	if (beat != p->beat || !p->looked) {
		p->beat = beat;
		p->looked = p->now;
		p->silent_ns = 0;
		return false;
	}
	p->looked = p->now;
	p->silent_ns += passed < HEART_LOOK_NS ? passed : HEART_LOOK_NS;
	return p->silent_ns >= HEART_SILENCE_NS;
}

/* Returns true if the agent was silent for all threads, whose waits are short. This only keeps
 * threads from waiting in vain. */
static bool was_silent(const struct patience *p)
{
	uint32_t beat = __atomic_load_n(&p->ring->heartbeat, __ATOMIC_RELAXED);

	if (beat != __atomic_load_n(&shim.heard_beat, __ATOMIC_RELAXED)) {
		__atomic_store_n(&shim.heard_ns, p->now, __ATOMIC_RELAXED);
		__atomic_store_n(&shim.heard_beat, beat, __ATOMIC_RELAXED);
	}
	return p->now - __atomic_load_n(&shim.heard_ns, __ATOMIC_RELAXED) > HEART_SILENCE_NS;
}

/* The wait. */

void patience_begin(struct patience *p, struct ring_header *ring, uint32_t policy)
{
	*p = (struct patience){.ring = ring, .policy = policy};
	p->start = p->now = sys_monotonic_ns();
}

static uint64_t block_piece(struct patience *p)
{
	if (p->now - p->start >= (uint64_t)p->ring->block_max_ms * NS_PER_MS)
		return 0;
	if (!is_silent(p))
		return BLOCK_PIECE_NS;
	slice_agent_gone(p->beat);
	return 0;
}

static uint64_t thin_piece(struct patience *p)
{
	if (was_silent(p))
		return 0;
	p->taken_ns = patience_take(&p->ring->waits, p->now);
	if (p->taken_ns && !p->asked && is_real_time()) {
		charge(&p->ring->waits, p->now, -(int64_t)p->taken_ns);
		return p->taken_ns = 0;
	}
	p->asked = true;
	return p->taken_ns;
}

unsigned patience_piece(struct patience *p)
{
	uint64_t now = sys_monotonic_ns(), piece = 0;

	patience_settle(p, now);
	p->now = now;
	if (__atomic_load_n(&p->ring->detached, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&shim.gone, __ATOMIC_RELAXED) || strict_refuses(CALLS_WAIT))
		return 0;
	if (p->policy == RING_BLOCK)
		piece = block_piece(p);
	if (p->policy == RING_THIN)
		piece = thin_piece(p);
	return (unsigned)piece / NS_PER_US;
}

uint64_t patience_end(struct patience *p)
{
	uint64_t now = sys_monotonic_ns();

	patience_settle(p, now);
	return now - p->start;
}
