/* Finds places at entries, for processors whose code is read little or not at all. See place.h.
 * Calling conventions: AAPCS64 6.8.2, AAPCS32 6.1.2, MIPS N64 (N32 ABI Handbook, chapter 2).
 * Arguments are in ascending registers, the return address is in the link register. */
#include "agent/unwind/place.h"

#include <elf.h>

#include "agent/unwind/arch/mips64/insn.h"
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

/*
 * MIPS. After a probed branch a thread resumes at an address that the kernel stores in the probe,
 * not in the thread (resume_epc, arch/mips/kernel/uprobes.c). If two threads pass the probe at
 * once, one may take the other's path, and a free(NULL) would continue in free. Conditional
 * branches are therefore not probed, and free is probed after its test for NULL.
 */
#define MIPS_ARGUMENT 4
#define MIPS_CODE     4

static uint32_t mips_insn(const struct place_function *function, size_t offset)
{
	return insn_at(function->code + offset);
}

static bool mips_goes_elsewhere(uint32_t insn)
{
	unsigned rs;

	return insn_is_call(insn) || insn_is_compact_call(insn) || insn_jumps_to(insn, &rs) ||
	       (insn_branches(insn) && !insn_always_branches(insn));
}

/* True if a branch of the function leads into (entry, offset]. */
static bool mips_comes_back(const struct place_function *function, size_t offset)
{
	for (size_t at = 0; at + MIPS_CODE <= function->size; at += MIPS_CODE) {
		uint32_t insn = mips_insn(function, at);
		int64_t target = (int64_t)at + MIPS_CODE + 4 * (int64_t)insn_immediate(insn);

		if (insn_branches(insn) && target > 0 && target <= (int64_t)offset)
			return true;
	}
	return false;
}

/* Recognizes beqz of this argument, with an empty delay slot. */
static bool mips_tests(const struct place_function *function, int argument)
{
	return argument >= 0 && function->size > 2 * MIPS_CODE &&
	       mips_insn(function, 0) >> 16 ==
		       (0x1000u | (MIPS_ARGUMENT + (unsigned)argument) << 5) &&
	       !mips_insn(function, MIPS_CODE) && !mips_comes_back(function, 2 * MIPS_CODE);
}

static void find_mips64(const struct place_function *function,
			const struct place_question *question, struct place_probe *ret_probe)
{
	find_entry(function, MIPS_ARGUMENT, 8, ret_probe);
	if (mips_tests(function, question->not_null)) {
		ret_probe->address += 2 * MIPS_CODE;
		ret_probe->not_null = true;
	} else {
		ret_probe->unsafe =
			function->size < MIPS_CODE || mips_goes_elsewhere(mips_insn(function, 0));
	}
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
