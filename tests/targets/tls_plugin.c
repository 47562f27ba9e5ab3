/* A plugin with much thread-local data, which the loader allocates at a thread's first use of it. */
#include <string.h>

#define BYTES (256 << 10)

static __thread char room[BYTES];

__attribute__((visibility("default"))) unsigned plugin_use(unsigned seed)
{
	unsigned sum = 0;

	memset(room, (int)(seed & 0xff), sizeof(room));
	for (unsigned i = 0; i < BYTES; i += 4096)
		sum += (unsigned char)room[i];
	return sum;
}
