/* Follows all paths of a function. See follow.h. */
#include "agent/unwind/arch/x86_64/follow.h"

#include <assert.h>

#include "agent/unwind/arch/x86_64/effect.h"
#include "agent/unwind/ban.h"

#define WINDOW	  512  /* bytes that are read in one step */
#define WORK_MAX  6000 /* instructions */
#define OPEN_MAX  256
#define SEEN_SIZE 16384

struct traversal {
	const struct place_code *code;
	uint64_t open[OPEN_MAX];
	unsigned open_count;
	uint64_t seen[SEEN_SIZE]; /* hash table of addresses + 1 */
	unsigned work;
	uint64_t *found;
	int found_count;
	bool failed;
	const struct place_hand_on *wanted; /* the targets of a search, which also follows calls;
					       NULL: the traversal collects returns */
	bool reached;
};

/* Marks an address as visited. Returns false if it already was. */
static bool follow_is_new(struct traversal *t, uint64_t address)
{
	uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15) >> 50;

	while (t->seen[hash % SEEN_SIZE]) {
		if (t->seen[hash % SEEN_SIZE] == address + 1)
			return false;
		hash++;
	}
	t->seen[hash % SEEN_SIZE] = address + 1;
	return true;
}

static_assert(WORK_MAX < SEEN_SIZE / 2, "there is always room in the hash");

static void open_at(struct traversal *t, uint64_t address)
{
	if (!address || t->open_count == OPEN_MAX)
		t->failed |= !t->wanted; /* a search may still find it on another path */
	else
		t->open[t->open_count++] = address;
}

static void note_exit(struct traversal *t, uint64_t address)
{
	if (t->wanted)
		return;
	if (t->found_count == PLACE_EXITS_MAX)
		t->failed = true;
	else
		t->found[t->found_count++] = address;
}

static bool follow_is_wanted(struct traversal *t, uint64_t address, bool pointer)
{
	t->reached |= t->wanted && t->wanted->is_target(t->wanted->context, address, pointer);
	return t->reached;
}

/* Follows a jump or call to another place in the file. */
static void lead_to(struct traversal *t, uint64_t target)
{
	if (!follow_is_wanted(t, target, false))
		open_at(t, target);
}

static void lead_through(struct traversal *t, uint64_t slot)
{
	if (!follow_is_wanted(t, slot, true))
		open_at(t, t->code->slot(t->code->context, slot));
}

static void follow_call(struct traversal *t, const struct insn *insn, uint64_t next)
{
	if (!t->wanted)
		return;
	if (insn->opcode == 0xe8)
		lead_to(t, next + (uint64_t)(int64_t)insn->immediate);
	else if (insn->relative)
		lead_through(t, next + (uint64_t)(int64_t)insn->displacement);
}

/* Handles one instruction. Returns true if the path continues after it. */
static bool follow_go_on(struct traversal *t, uint64_t address, const struct insn *insn,
			 uint64_t next)
{
	switch (insn_flow(insn)) {
	case FLOW_BRANCH:
		open_at(t, next + (uint64_t)(int64_t)insn->immediate);
		return true;
	case FLOW_JUMP:
		lead_to(t, next + (uint64_t)(int64_t)insn->immediate);
		return false;
	case FLOW_AWAY_STATIC:
		lead_through(t, next + (uint64_t)(int64_t)insn->displacement);
		return false;
	case FLOW_CALL:
		follow_call(t, insn, next);
		return true;
	case FLOW_AWAY:
		t->failed = true;
		return false;
	case FLOW_RETURN:
		note_exit(t, address);
		return false;
	case FLOW_STOP:
		t->failed |= insn->opcode == 0xc2;
		return false;
	default:
		return true;
	}
}

/* Follows a path from an address to its end. */
static void follow(struct traversal *t, uint64_t address)
{
	uint8_t bytes[WINDOW];
	uint64_t from = address;
	size_t length = t->code->read(t->code->context, from, bytes, sizeof(bytes)), at = 0;
	struct insn insn;

	for (uint64_t first = address; !t->failed; address = from + at) {
		if (at + 15 > length && length == sizeof(bytes)) {
			from = address;
			at = 0;
			length = t->code->read(t->code->context, from, bytes, sizeof(bytes));
		}
		if (address != first && t->code->begins(t->code->context, address))
			return; /* another function begins here, so the last call does not return */
		if (t->work == WORK_MAX || !insn_read(bytes + at, bytes + length, &insn)) {
			t->failed = true;
			return;
		}
		if (!follow_is_new(t, address))
			return;
		t->work++;
		at = (size_t)(insn.next - bytes);
		if (!follow_go_on(t, address, &insn, from + at))
			return;
	}
}

int follow_exits(const struct place_code *code, uint64_t address,
		 uint64_t ret_exit[PLACE_EXITS_MAX])
{
	struct traversal t;

	__builtin_memset(&t, 0, sizeof(t));
	t.code = code;
	t.found = ret_exit;
	open_at(&t, address);
	while (t.open_count && !t.failed)
		follow(&t, t.open[--t.open_count]);
	return t.failed ? -1 : t.found_count;
}

/* Searches all paths. A path that cannot be followed ends without a failure, because one path to a
 * target is enough. */
bool follow_reaches(const struct place_code *code, uint64_t address,
		    const struct place_hand_on *question)
{
	struct traversal t;

	__builtin_memset(&t, 0, sizeof(t));
	t.code = code;
	t.wanted = question;
	open_at(&t, address);
	while (t.open_count && !t.reached && t.work < WORK_MAX) {
		t.failed = false;
		follow(&t, t.open[--t.open_count]);
	}
	return t.reached;
}

/* ---- functions that only pass a call on ---- */

#define HAND_ON_MAX   384 /* bytes; a larger function does more than pass a call on */
#define HAND_ON_PATHS 64

struct path {
	uint16_t at;
	bool constant; /* rax has a constant */
};

struct hand_on {
	const struct place_function *f;
	const struct place_hand_on *question;
	struct path open[HAND_ON_PATHS];
	unsigned open_count;
	bool seen[2][HAND_ON_MAX];
	bool found, failed;
};

static bool is_target(struct hand_on *h, uint64_t address, bool pointer)
{
	bool is = h->question->is_target(h->question->context, address, pointer);

	h->found |= is;
	return is;
}

/* Tells whether a jump out of the function leads to code that never returns. Compilers place parts
 * that are seldom executed outside of the function. */
static bool never_returns(const struct hand_on *h, uint64_t address)
{
	uint64_t exits[PLACE_EXITS_MAX];

	return follow_exits(h->question->code, address, exits) == 0;
}

/* Follows a jump to a place in the function, to a target or to an end. Any other jump is a failure.
 */
static void follow_jump(struct hand_on *h, uint64_t target, bool constant)
{
	uint64_t offset = target - h->f->address;

	if (offset >= h->f->size) {
		h->failed |= !is_target(h, target, false) && !never_returns(h, target);
		return;
	}
	if (h->seen[constant][offset])
		return;
	h->seen[constant][offset] = true;
	if (h->open_count == HAND_ON_PATHS)
		h->failed = true;
	else
		h->open[h->open_count++] = (struct path){(uint16_t)offset, constant};
}

/* xor %eax, %eax; mov $CONSTANT, %eax */
static bool is_constant_result(const struct insn *insn)
{
	if (insn->map || insn->reg)
		return false;
	return insn->opcode == 0xb8 ||
	       ((insn->opcode & 0xfd) == 0x31 && insn->mod == 3 && !insn->rm);
}

static void pass(struct hand_on *h, struct path *path, const struct insn *insn)
{
	uint32_t written = 1;

	if (is_constant_result(insn))
		path->constant = true;
	else if (!effect_registers(insn, &written) || written & 1)
		path->constant = false;
	h->failed |= h->question->frees && effect_stores(insn);
}

/* Handles one instruction. Returns true if the path continues after it. */
static bool follow_step(struct hand_on *h, struct path *path, const struct insn *insn)
{
	uint64_t next = h->f->address + (uint64_t)(insn->next - h->f->code);
	uint64_t target = next + (uint64_t)(int64_t)insn->immediate;
	uint64_t slot = next + (uint64_t)(int64_t)insn->displacement;

	switch (insn_flow(insn)) {
	case FLOW_BRANCH:
		follow_jump(h, target, path->constant);
		return true;
	case FLOW_JUMP:
		follow_jump(h, target, path->constant);
		return false;
	case FLOW_AWAY_STATIC:
		h->failed |= !is_target(h, slot, true);
		return false;
	case FLOW_CALL:
		if (insn->opcode == 0xe8 ? is_target(h, target, false)
					 : insn->relative && is_target(h, slot, true))
			return false;
		h->failed |= h->question->frees;
		path->constant = false;
		return true;
	case FLOW_RETURN:
		h->failed |= !h->question->frees && !path->constant;
		return false;
	case FLOW_AWAY:
		h->failed = true;
		return false;
	case FLOW_STOP:
		return false;
	default:
		pass(h, path, insn);
		return true;
	}
}

bool follow_hands_on(const struct place_function *function, const struct place_hand_on *question)
{
	const uint8_t *end = function->code + function->size;
	struct hand_on h;
	struct insn insn;

	if (function->size > HAND_ON_MAX)
		return false;
	__builtin_memset(&h, 0, sizeof(h));
	h.f = function;
	h.question = question;
	follow_jump(&h, function->address, false);
	while (h.open_count && !h.failed) {
		struct path path = h.open[--h.open_count];
		const uint8_t *at = function->code + path.at;

		do {
			if (!insn_read(at, end, &insn))
				return false;
			at = insn.next;
		} while (follow_step(&h, &path, &insn) && !h.failed);
	}
	return h.found && !h.failed;
}
