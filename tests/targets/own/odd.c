/*
 * Functions with the names of allocators' that can't be patched, each for a reason of its own, and one that can: the program
 * must not notice. It prints what its functions begin with, and whether a page of it can be written and executed.
 *
 *	je_		je_free's first instruction is the head of a loop: the whole allocator stays as it is
 *	_rjem_		_rjem_malloc calls at once, _rjem_free is sound
 *	tc_		tc_free is one byte, and the next function stands right behind it
 *	mi_		sound, both
 *	jemalloc_	sound; jemalloc_free touches no register, and its caller relies on that, as compilers do
 */
#include <stdio.h>
#include <string.h>

static char room[1 << 16];
static size_t used;

/* Out of line, and not known to the compiler. */
__attribute__((noipa)) void *cut(size_t size)
{
	used += (size + 15) & ~(size_t)15;
	return room + used - ((size + 15) & ~(size_t)15);
}

__attribute__((noipa)) void *je_malloc(size_t size)
{
	void *p = cut(size);

	memset(p, 0, size);
	return p;
}

__attribute__((noipa)) void *mi_malloc(size_t size)
{
	void *p = cut(size);

	memset(p, 1, size);
	return p;
}

__attribute__((noipa)) void *jemalloc_malloc(size_t size)
{
	char *p = cut(size);

	memset(p, 3, size);
	return p;
}

__attribute__((noipa)) void mi_free(void *p)
{
	memset(p, 2, 16);
}

void je_free(void *p);
void *_rjem_malloc(size_t size);
void _rjem_free(void *p);
void *tc_malloc(size_t size);
void tc_free(void *p);

/* Frees by jemalloc_free: 1 if every register is what it was. */
int kept(void *p);

__asm__(".text\n"
	".p2align 4\n"
	".globl je_free\n.type je_free, @function\n"
	"je_free:	addl $1, odd_count(%rip)\n"
	"	add $3, %rdi\n"
	"	test $1, %dil\n"
	"	je je_free\n"
	"	ret\n"
	".size je_free, . - je_free\n"
	".p2align 4\n"
	".globl _rjem_malloc\n.type _rjem_malloc, @function\n"
	"_rjem_malloc:	jmp cut\n"
	".size _rjem_malloc, . - _rjem_malloc\n"
	".p2align 4\n"
	".globl _rjem_free\n.type _rjem_free, @function\n"
	"_rjem_free:	call odd_empty\n"
	"	ret\n"
	".size _rjem_free, . - _rjem_free\n"
	"odd_empty:	ret\n"
	".p2align 4\n"
	".globl tc_malloc\n.type tc_malloc, @function\n"
	"tc_malloc:	push %rbx\n"
	"	mov %rdi, %rbx\n"
	"	mov $0, %eax\n"
	"	call cut\n"
	"	pop %rbx\n"
	"	ret\n"
	".size tc_malloc, . - tc_malloc\n"
	".globl tc_free\n.type tc_free, @function\n"
	"tc_free:	ret\n"
	".size tc_free, . - tc_free\n"
	"	mov $1, %eax\n"
	"	mov $2, %eax\n"
	"	ret\n"
	".p2align 4\n"
	".globl jemalloc_free\n.type jemalloc_free, @function\n"
	"jemalloc_free:	test %rdi, %rdi\n"
	"	je 1f\n"
	"	addl $1, odd_count(%rip)\n"
	"1:	ret\n"
	".size jemalloc_free, . - jemalloc_free\n"
	"kept:	mov $1, %eax\n"
	"	mov $2, %ecx\n"
	"	mov $3, %edx\n"
	"	mov $4, %esi\n"
	"	mov $5, %r8d\n"
	"	mov $6, %r9d\n"
	"	mov $7, %r10d\n"
	"	mov $8, %r11d\n"
	"	push %rdi\n"
	"	call jemalloc_free\n"
	"	cmp (%rsp), %rdi\n"
	"	jne 1f\n"
	"	sub $1, %rax\n"
	"	sub $2, %rcx\n"
	"	sub $3, %rdx\n"
	"	sub $4, %rsi\n"
	"	sub $5, %r8\n"
	"	sub $6, %r9\n"
	"	sub $7, %r10\n"
	"	sub $8, %r11\n"
	"	or %rcx, %rax\n"
	"	or %rdx, %rax\n"
	"	or %rsi, %rax\n"
	"	or %r8, %rax\n"
	"	or %r9, %rax\n"
	"	or %r10, %rax\n"
	"	or %r11, %rax\n"
	"	jne 1f\n"
	"	pop %rdi\n"
	"	mov $1, %eax\n"
	"	ret\n"
	"1:	pop %rdi\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".local odd_count\n.comm odd_count, 8\n");

/* "jump" if one stands there. */
static const char *begins(const void *function)
{
	const unsigned char *code = function;

	if (!memcmp(code, "\xf3\x0f\x1e\xfa", 4))
		code += 4;
	return *code == 0xe9 ? "jump" : "own";
}

static const char *writable_code(void)
{
	char line[512];
	const char *found = "none";
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, " rwx"))
			found = "some";
	return maps ? found : "unknown";
}

int main(void)
{
	char *p = NULL;

	for (int i = 0; i < 50; i++) {
		p = je_malloc(32);
		je_free(p);
		p = _rjem_malloc(48);
		_rjem_free(p);
		p = tc_malloc(64);
		tc_free(p);
		if (!kept(jemalloc_malloc(96)))
			return 25;
		p = mi_malloc(80);
		mi_free(p);
	}
	printf("mi_malloc %s\nje_malloc %s\nwritable code %s\n", begins((void *)mi_malloc),
	       begins((void *)je_malloc), writable_code());
	return p[0] == 2 && p[40] == 1 ? 23 : 24;
}
