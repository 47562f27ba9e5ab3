/* The functions of entry.h for processors on which functions are never patched. */
#include "agent/unwind/entry.h"

#include "agent/unwind/ban.h"

enum entry_fault entry_read(const uint8_t *code, size_t size, size_t room, uint64_t address,
			    struct entry_move *ret_move)
{
	(void)code;
	(void)size;
	(void)room;
	(void)address;
	(void)ret_move;
	return ENTRY_UNREADABLE;
}

bool entry_leads_to(const uint8_t *code, size_t size, uint64_t address, uint64_t target)
{
	(void)code;
	(void)size;
	(void)address;
	(void)target;
	return false;
}

void entry_branches(const uint8_t *code, size_t begin, size_t length, uint64_t address,
		    const struct entry_search *search)
{
	(void)code;
	(void)begin;
	(void)length;
	(void)address;
	(void)search;
}
