/* The definition of prctl and syscall behind libheapcast.so, for words.c. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define CHECKED 1000001L
#define EXPORT	__attribute__((visibility("default")))

EXPORT long words_checked;

/* Does it return to the program itself? */
static int from_program(void *address)
{
	Dl_info info;

	return dladdr(address, &info) && !strstr(info.dli_fname, "libheapcast");
}

/* No function of this type is declared: words are words. */
EXPORT long words_syscall(long number, long a, long b, long c, long d, long e, long f, long g) __asm__("syscall");
EXPORT int words_prctl(int option, long a, long b, long c, long d) __asm__("prctl");

long words_syscall(long number, long a, long b, long c, long d, long e, long f, long g)
{
	if (number != CHECKED) {
		errno = ENOSYS;
		return -1;
	}
	words_checked++;
	if (a != 11 || b != 12 || c != 13 || d != 14 || e != 15 || f != 16 || g != 17)
		return 1;
	return from_program(__builtin_return_address(0)) ? 107 : 2;
}

int words_prctl(int option, long a, long b, long c, long d)
{
	words_checked++;
	return option == (int)CHECKED && a == 11 && b == 12 && c == 13 && d == 14 ? 106 : 1;
}
