/* Probes at entries, for processors whose code is not read. See place.h. Calling conventions: AAPCS64 6.8.2, AAPCS32 6.1.2,
 * MIPS N64 (N32 ABI Handbook, chapter 2): arguments in rising registers, the return address in the link register. */
#include "agent/unwind/place.h"

#include <elf.h>

#include "agent/unwind/ban.h"

#define NOWHERE 63 /* as SITE_NO_REGISTER (bpf/site.h) */

static void find_entry(const struct place_function *function, unsigned first, unsigned count,
		       struct place_probe *ret_probe)
{
	*ret_probe = (struct place_probe){.address = function->address, .link = true};
	for (unsigned i = 0; i < PLACE_ARGUMENTS; i++)
		ret_probe->argument[i] = i < count ? (uint8_t)(first + i) : NOWHERE;
}

static void find_aarch64(const struct place_function *function,
			 const struct place_question *question, struct place_probe *ret_probe)
{
	(void)question;
	find_entry(function, 0, 8, ret_probe);
}

static void find_arm(const struct place_function *function, const struct place_question *question,
		     struct place_probe *ret_probe)
{
	(void)question;
	find_entry(function, 0, 4, ret_probe);
}

static void find_mips64(const struct place_function *function,
			const struct place_question *question, struct place_probe *ret_probe)
{
	(void)question;
	find_entry(function, 4, 8, ret_probe);
}

static int no_exits(const struct place_code *code, uint64_t address,
		    uint64_t ret_exit[PLACE_EXITS_MAX])
{
	(void)code;
	(void)address;
	(void)ret_exit;
	return -1;
}

static bool hands_on_never(const struct place_function *function,
			   const struct place_hand_on *question)
{
	(void)function;
	(void)question;
	return false;
}

static bool reaches_never(const struct place_code *code, uint64_t address,
			  const struct place_hand_on *question)
{
	(void)code;
	(void)address;
	(void)question;
	return false;
}

static uint64_t no_stub(const uint8_t *code, size_t size, uint64_t address)
{
	(void)code;
	(void)size;
	(void)address;
	return 0;
}

static const struct place_reader readers[] = {
	{EM_AARCH64, find_aarch64, no_exits, hands_on_never, reaches_never, no_stub},
	{EM_ARM, find_arm, no_exits, hands_on_never, reaches_never, no_stub},
	{EM_MIPS, find_mips64, no_exits, hands_on_never, reaches_never, no_stub},
};

const struct place_reader *place_reader(uint16_t machine)
{
	if (machine == place_own.machine && machine != EM_NONE)
		return &place_own;
	for (unsigned i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (readers[i].machine == machine)
			return &readers[i];
	return NULL;
}
