#pragma once
/* A function that calls what it is given: for unit.ebpf.walk. Frame records there are none on this
 * processor. */
#include <stdint.h>

/* daddiu sp, sp, -16; sd ra, 8(sp); move t9, a0; jalr t9; nop; ld ra, 8(sp); jr ra; daddiu sp, sp,
 * 16 */
static const uint32_t code_without_record[] = {0x67bdfff0, 0xffbf0008, 0x0080c825, 0x0320f809,
					       0x00000000, 0xdfbf0008, 0x03e00008, 0x67bd0010};
#define code_with_record code_without_record
