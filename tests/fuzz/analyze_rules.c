/* A file of rules for `collector analyze`: it is understood, or refused with a sentence; what is
 * understood judges any frame. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "collector/analyze/rules.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("rules", MFD_CLOEXEC);
	struct err_text err = {{0}};
	struct rules *rules;
	char path[64];
	int r;

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = rules_read(path, &rules, &err);
	if (r < 0) {
		must(*err.text);
	} else {
		struct rules_verdict v = rules_judge(rules, "DB::Arena::alloc(unsigned long)");

		must(v.subsystem == RULES_NO_SUBSYSTEM || rules_subsystem(rules, v.subsystem));
		for (uint32_t i = 0; i < rules_subsystems(rules); i++)
			fuzz_touch((const uint8_t *)rules_subsystem(rules, i),
				   strlen(rules_subsystem(rules, i)));
		rules_free(rules);
	}
	close(fd);
	return 0;
}
