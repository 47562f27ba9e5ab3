#pragma once
/* A function that calls what it is given, and one that has no frame record: for unit.ebpf.walk. */
#include <stdint.h>

/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret, and with 0 in
 * x29 */
static const uint32_t code_with_record[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd,
					    0xd65f03c0};
static const uint32_t code_without_record[] = {0xa9bf7bfd, 0xaa1f03fd, 0xd63f0000, 0xa8c17bfd,
					       0xd65f03c0};
