/* Closes every descriptor that it did not open, as daemons do, and says how many there were beyond
 * 0, 1 and 2; then allocates, and opens a file, which must get number 3. */
#include <fcntl.h>
#include <stdlib.h>

#include "tests/targets/target.h"

int main(void)
{
	unsigned long open_ones = 0;
	int fd;

	free(use(malloc(own(16))));
	for (fd = 3; fd < 1024; fd++)
		open_ones += close(fd) == 0;
	for (int i = 0; i < 100; i++)
		free(use(malloc(own(32))));
	fd = open("/dev/null", O_RDONLY);
	say("open", open_ones);
	say("descriptor", (unsigned long)fd);
	say("allocations", 101);
	say("frees", 101);
	return 0;
}
