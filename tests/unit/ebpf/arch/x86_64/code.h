#pragma once
/* A function that calls what it is given, and one that has no frame record: for unit.ebpf.walk. */
#include <stdint.h>

/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret, and with 0 in rbp */
static const uint8_t code_with_record[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
static const uint8_t code_without_record[] = {0x55, 0x31, 0xed, 0xff, 0xd7, 0x5d, 0xc3};
