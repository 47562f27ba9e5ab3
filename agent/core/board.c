/* Finds out the machine's model. See board.h. */
#include "agent/core/board.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/proc/file.h"
#include "base/words.h"
#include "base/ban.h"

/* Documentation/ABI/testing/sysfs-firmware-ofw and sysfs-class-dmi of Linux. */
static const char *const files[] = {"/sys/firmware/devicetree/base/model",
				    "/sys/class/dmi/id/product_name"};

const char *board_name(void)
{
	static char name[BOARD_MAX];
	static bool known;

	for (size_t i = 0; !known && i < sizeof(files) / sizeof(files[0]) && !*name; i++) {
		char text[BOARD_MAX];

		if (proc_read(-1, files[i], text, sizeof(text)) <= 0)
			continue;
		text[strcspn(text, "\n")] = '\0';
		words_clean(name, sizeof(name), text, strlen(text));
	}
	known = true;
	return name;
}
