/* exec_self TIMES: allocates, and runs itself again with one less. At the end it exits with 6. */
#include <stdlib.h>

#include "tests/targets/target.h"

int main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) : 0;
	char next[16];

	for (int i = 0; i < 10; i++)
		(void)use(malloc(own(1000 + 16 * (size_t)left)));
	if (!left)
		return 6;
	snprintf(next, sizeof(next), "%d", left - 1);
	execl(argv[0], argv[0], next, (char *)NULL);
	return 98;
}
