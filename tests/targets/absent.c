/* Asks for functions that some allocators have, and finds none of them. */
#include <stddef.h>

#include "tests/targets/target.h"

__attribute__((weak)) void *mallocx(size_t size, int flags);
__attribute__((weak)) void *rallocx(void *p, size_t size, int flags);
__attribute__((weak)) void sdallocx(void *p, size_t size, int flags);
__attribute__((weak)) void *je_malloc(size_t size);
__attribute__((weak)) void *mi_malloc(size_t size);
__attribute__((weak)) void *tc_malloc(size_t size);

int main(void)
{
	void *p = mallocx ? mallocx(own(100), 0) : NULL;

	say("there", (mallocx != NULL) + (rallocx != NULL) + (sdallocx != NULL) +
			     (je_malloc != NULL) + (mi_malloc != NULL) + (tc_malloc != NULL));
	return p != NULL;
}
