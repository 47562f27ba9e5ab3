/* stamps OFFSET: the word that lies OFFSET bytes into libheapcast.so, before and after a second thread
 * has allocated. */
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/targets/target.h"

static int find(struct dl_phdr_info *info, size_t size, void *ret_base)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libheapcast.so"))
		return 0;
	*(uintptr_t *)ret_base = info->dlpi_addr;
	return 1;
}

static void *work(void *unused)
{
	free(use(malloc(own(64))));
	return unused;
}

int main(int argc, char **argv)
{
	uintptr_t offset = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, base = 0;
	const volatile uint32_t *word;
	pthread_t second;

	dl_iterate_phdr(find, &base);
	if (!base || !offset)
		return 3;
	word = (const volatile uint32_t *)(base + offset);
	work(NULL);
	say("alone", *word);
	if (pthread_create(&second, NULL, work, NULL))
		return 4;
	pthread_join(second, NULL);
	say("together", *word);
	return 0;
}
