/* A few blocks, one of them never freed, an exit status that is not 0. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char *volatile freed = malloc(100), *volatile leaked = malloc(200);

	free(freed);
	printf("%s\n", leaked ? "done" : "no memory");
	return 5;
}
