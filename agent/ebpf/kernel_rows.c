/* Manages the kernel's map of rows. See kernel_rows.h. */
#include "agent/ebpf/kernel_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/unwind/row.h"

#define BLOCK_LINES (1u << WALK_BITS_MIN)

static void *map_map(int fd, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static size_t whole_pages(size_t size)
{
	return (size + 4095) / 4096 * 4096;
}

int kernel_rows_open(struct kernel_rows *k, int rows_fd, int spaces_fd, uint32_t lines,
		     uint32_t spaces, struct err_text *error)
{
	memset(k, 0, sizeof(*k));
	if (rows_fd < 0 || spaces_fd < 0)
		return 0;
	k->blocks = lines / BLOCK_LINES;
	k->space_count = spaces;
	k->lines_size = whole_pages(sizeof(struct walk_line) * lines);
	k->spaces_size = whole_pages(sizeof(struct walk_space) * spaces);
	k->block_used = calloc(k->blocks + 1, 1);
	k->space_used = calloc(k->space_count + 1, 1);
	if (!k->block_used || !k->space_used) {
		kernel_rows_close(k);
		return -ENOMEM;
	}
	k->lines = map_map(rows_fd, k->lines_size);
	if (k->lines)
		k->spaces = map_map(spaces_fd, k->spaces_size);
	if (!k->spaces) {
		int number = -errno;

		kernel_rows_close(k);
		return err_set(error, number, "cannot map the kernel's table of rows: %s",
			       strerror(-number));
	}
	return 0;
}

void kernel_rows_close(struct kernel_rows *k)
{
	if (k->lines)
		munmap(k->lines, k->lines_size);
	if (k->spaces)
		munmap(k->spaces, k->spaces_size);
	free(k->block_used);
	free(k->space_used);
	memset(k, 0, sizeof(*k));
}

/* Takes `count` consecutive blocks; returns the first one, or UINT32_MAX if there are none. */
static uint32_t blocks_take(struct kernel_rows *k, uint32_t count)
{
	for (uint32_t i = 0, run = 0; i < k->blocks; i++) {
		run = k->block_used[i] ? 0 : run + 1;
		if (run < count)
			continue;
		memset(k->block_used + i + 1 - count, 1, count);
		k->blocks_in_use += count;
		return i + 1 - count;
	}
	return UINT32_MAX;
}

static void blocks_give(struct kernel_rows *k, const struct kernel_part *part)
{
	uint32_t count = 1u << part->bits >> WALK_BITS_MIN;

	if (!part->bits)
		return;
	memset(k->block_used + part->first / BLOCK_LINES, 0, count);
	k->blocks_in_use -= count;
}

void kernel_part_clear(struct kernel_rows *k, struct kernel_part *part)
{
	for (uint32_t i = 0; part->bits && i < 1u << part->bits; i++)
		for (unsigned j = 0; j < WALK_LINE_ENTRIES; j++)
			__atomic_store_n(&k->lines[part->first + i].entries[j], 0,
					 __ATOMIC_RELAXED);
	part->count = 0;
}

static bool part_size(struct kernel_rows *k, struct kernel_part *part, uint32_t bits)
{
	uint32_t block = blocks_take(k, 1u << bits >> WALK_BITS_MIN);

	if (block == UINT32_MAX)
		return false;
	part->bits = bits;
	part->first = block * BLOCK_LINES;
	kernel_part_clear(k, part);
	return true;
}

void kernel_part_let(struct kernel_rows *k, struct kernel_part *ret)
{
	*ret = (struct kernel_part){.space = WALK_SPACE_NONE};
	for (uint32_t i = 0; k->lines && i < k->space_count; i++) {
		if (k->space_used[i])
			continue;
		if (!part_size(k, ret, WALK_BITS_MIN))
			return;
		k->space_used[i] = 1;
		k->spaces_in_use++;
		ret->space = i;
		return;
	}
}

void kernel_part_end(struct kernel_rows *k, struct kernel_part *part)
{
	if (part->space == WALK_SPACE_NONE)
		return;
	__atomic_store_n(&k->spaces[part->space].word, 0, __ATOMIC_SEQ_CST);
	/* The next user of this space must not get a generation that a running walk has seen. */
	__atomic_fetch_add(&k->spaces[part->space].unmapped, 1, __ATOMIC_SEQ_CST);
	blocks_give(k, part);
	k->space_used[part->space] = 0;
	k->spaces_in_use--;
	*part = (struct kernel_part){.space = WALK_SPACE_NONE};
}

uint64_t kernel_part_unmapped(const struct kernel_rows *k, const struct kernel_part *part)
{
	return part->space == WALK_SPACE_NONE
		       ? 0
		       : __atomic_load_n(&k->spaces[part->space].unmapped, __ATOMIC_SEQ_CST);
}

static void say_word(struct kernel_rows *k, const struct kernel_part *part, uint32_t generation)
{
	__atomic_store_n(&k->spaces[part->space].word,
			 walk_word(generation, part->bits, part->first), __ATOMIC_SEQ_CST);
}

void kernel_part_say(struct kernel_rows *k, const struct kernel_part *part, uint64_t unmapped,
		     const struct walk_code *code, uint32_t count)
{
	struct walk_space *space;
	uint32_t at = 0;

	if (part->space == WALK_SPACE_NONE)
		return;
	space = &k->spaces[part->space];
	for (uint32_t i = 0; i < count; i++) {
		/* The space has room for WALK_CODE_MAX ranges. If the process has more, the last
		 * one covers the rest, including gaps. */
		if (at == WALK_CODE_MAX) {
			space->code[at - 1].end = code[i].end;
		} else {
			space->code[at] = code[i];
			at++;
		}
	}
	for (; at < WALK_CODE_MAX; at++)
		space->code[at] = (struct walk_code){0};
	say_word(k, part, (uint32_t)unmapped);
}

bool kernel_part_is_open(const struct kernel_rows *k, const struct kernel_part *part)
{
	return part->space == WALK_SPACE_NONE ||
	       walk_word_generation(
		       __atomic_load_n(&k->spaces[part->space].word, __ATOMIC_SEQ_CST)) ==
		       (uint32_t)kernel_part_unmapped(k, part);
}

static struct walk_line *kernel_rows_line_of(struct kernel_rows *k, const struct kernel_part *part,
					     uint64_t key)
{
	return &k->lines[walk_line_of(walk_word(0, part->bits, part->first), key)];
}

/* Recovers the key of a program counter from its line and tag: the inverse of key_place in
 * row.h. */
static uint64_t key_of_entry(uint64_t entry, uint32_t line, uint32_t bits)
{
	uint64_t high = entry >> ROW_BITS;
	uint64_t low = (line ^ high ^ high >> KEY_LOW_BITS) & ((1u << bits) - 1);

	return high << KEY_LOW_BITS | (low & ((1u << KEY_LOW_BITS) - 1));
}

static bool kernel_rows_put(struct walk_line *line, uint64_t key, uint32_t row)
{
	for (unsigned i = 0; i < WALK_LINE_ENTRIES; i++) {
		if (line->entries[i])
			continue;
		__atomic_store_n(&line->entries[i], entry_of(key, row), __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

/* Moves the rows to a part of twice the size if there is room. A running walk notices the change by
 * the space's word, which is written before the old part is freed. */
static bool kernel_rows_grow(struct kernel_rows *k, struct kernel_part *part)
{
	struct kernel_part larger = *part;

	if (part->bits >= WALK_BITS_MAX || !part_size(k, &larger, part->bits + 1))
		return false;
	for (uint32_t i = 0; i < 1u << part->bits; i++)
		for (unsigned j = 0; j < WALK_LINE_ENTRIES; j++) {
			uint64_t entry = k->lines[part->first + i].entries[j];
			uint64_t key = key_of_entry(entry, i, part->bits);

			if (entry)
				larger.count +=
					kernel_rows_put(kernel_rows_line_of(k, &larger, key), key,
							entry_row(entry));
		}
	say_word(k, &larger,
		 walk_word_generation(
			 __atomic_load_n(&k->spaces[part->space].word, __ATOMIC_SEQ_CST)));
	blocks_give(k, part);
	*part = larger;
	return true;
}

void kernel_part_insert(struct kernel_rows *k, struct kernel_part *part, uint64_t key, uint32_t row)
{
	struct walk_line *line;

	if (!part->bits || key >> 47)
		return;
	line = kernel_rows_line_of(k, part, key);
	for (unsigned i = 0; i < WALK_LINE_ENTRIES; i++)
		if (entry_is(line->entries[i], key) && line->entries[i])
			return;
	k->inserted++;
	if (part->count > ((uint32_t)WALK_LINE_ENTRIES << part->bits) / 2 &&
	    kernel_rows_grow(k, part))
		line = kernel_rows_line_of(k, part, key);
	if (kernel_rows_put(line, key, row)) {
		part->count++;
		return;
	}
	if (kernel_rows_grow(k, part) &&
	    kernel_rows_put(kernel_rows_line_of(k, part, key), key, row)) {
		part->count++;
		return;
	}
	k->turned_away++; /* no room in the line: evict one of its rows */
	line = kernel_rows_line_of(k, part, key);
	__atomic_store_n(&line->entries[k->turned_away % WALK_LINE_ENTRIES], entry_of(key, row),
			 __ATOMIC_RELEASE);
}
