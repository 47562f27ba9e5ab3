/* Short-lived blocks are looked for in a file without a name, which is given back once. */
#include "collector/rewrite/short_lived.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/descriptors.h"
#include "tests/unit/first_descriptor.h"

/* What takes its descriptor's place is not closed by a second call. */
static void given_back_once(void **state)
{
	unsigned before = descriptors_open();
	struct short_lived s;
	int other;

	(void)state;
	assert_int_equal(short_lived_init(&s, 100), 0);
	assert_int_equal(s.threshold_ns, 100);
	assert_int_equal(descriptors_open(), before + 1);
	other = s.fd;
	short_lived_done(&s);
	assert_int_equal(descriptors_open(), before);
	assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), other);
	short_lived_done(&s);
	assert_true(fcntl(other, F_GETFD) >= 0);
	close(other);
}

static void descriptor_zero(void **state)
{
	struct short_lived s;

	(void)state;
	first_descriptor_free();
	assert_int_equal(short_lived_init(&s, 100), 0);
	assert_int_equal(s.fd, 0);
	short_lived_done(&s);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	first_descriptor_take();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_back_once),
		cmocka_unit_test(descriptor_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
