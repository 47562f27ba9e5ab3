/* One block that becomes resident little by little, within 0.2 s: hardly any events, and another
 * peak at each look. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEPS 20
#define STEP  (1u << 20)

int main(void)
{
	static const struct timespec pause = {.tv_nsec = 10000000};
	char *block = malloc(STEPS * STEP);

	for (size_t i = 0; block && i < STEPS; i++) {
		memset(block + i * STEP, 1, STEP);
		nanosleep(&pause, NULL);
	}
	return !block;
}
