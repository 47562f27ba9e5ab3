/* Key files (base/secure/secret.h): whatever one holds, it is a key of a bounded length with a
 * name, or refused with a sentence that does not hold the key. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/secure/secret.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("key", MFD_CLOEXEC);
	struct err_text err = {{0}};
	struct secret secret;
	char path[64];
	int r;

	must(fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = secret_read(path, &secret, &err);
	close(fd);
	if (r < 0) {
		must(*err.text);
		return 0;
	}
	must(secret.key_length >= SECRET_KEY_MIN && secret.key_length <= SECRET_KEY_MAX);
	must(*secret.name && memchr(secret.name, '\0', sizeof(secret.name)));
	fuzz_touch(secret.key, secret.key_length);
	secret_clear(&secret);
	return 0;
}
