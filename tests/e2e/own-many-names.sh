#!/bin/bash
# A program with an allocator of its own, and 60,000 functions that it exports: the allocator is found among them, and each of its
# blocks is on record.
. "$(dirname "$0")/lib.sh"
need python3 gcc
[ "$(uname -m)" = x86_64 ] || skip "functions are patched on x86-64 only"

cat >"$T/program.c" <<'EOF'
#include <stddef.h>
#include <string.h>

static char heap[1 << 24];
static size_t used;

void *malloc(size_t size)
{
	size_t at = used;

	used += (size + 15) & ~(size_t)15;
	return used <= sizeof(heap) ? heap + at : NULL;
}

void free(void *block)
{
	if (block)
		*(volatile char *)block = 0;
}

void *calloc(size_t count, size_t size)
{
	void *block = malloc(count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *block, size_t size)
{
	void *other = malloc(size);

	return block && other ? memcpy(other, block, size) : other;
}

int main(void)
{
	for (int i = 0; i < 1000; i++) {
		void *volatile block = malloc(100);

		free(block);
	}
	return 0;
}
EOF
python3 - >"$T/names.s" <<'EOF'
print(".text")
for i in range(60000):
    name = "_ZN%064xEv" % (i * 0x9e3779b97f4a7c15 % 2**64)
    print(".globl {0}\n.type {0},@function\n{0}: ret".format(name))
EOF
gcc -O1 -fno-builtin -rdynamic -z noexecstack -o "$T/program" "$T/program.c" "$T/names.s"
"$AGENT" run --output "$T/recording" -- "$T/program" 2>"$T/run.err"
assert_contains "the summary" "$T/run.err" "2,000 events, 0 lost"
