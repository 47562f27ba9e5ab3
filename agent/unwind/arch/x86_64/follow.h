#pragma once
/* Follows all paths of a function to its ends. The functions here implement exits, hands_on and
 * reaches of place.h. Work is bounded. */
#include "agent/unwind/place.h"

int follow_exits(const struct place_code *code, uint64_t address,
		 uint64_t ret_exit[PLACE_EXITS_MAX]);
bool follow_hands_on(const struct place_function *function, const struct place_hand_on *question);
bool follow_reaches(const struct place_code *code, uint64_t address,
		    const struct place_hand_on *question);
