// Makes code at run time that keeps no frame pointer, tells about it as compilers at run time do, and allocates and throws
// through it. Prints what it has caught. Known: ROUNDS blocks of 4321 bytes, none freed, each below `through` below the code below `main`.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

extern "C" void __register_frame(void *);
extern "C" void __deregister_frame(void *);

#define ROUNDS 50

static void *volatile kept;

__attribute__((noinline)) static void through()
{
	kept = std::malloc(4321);
	throw 42;
}

// push %rbp; push %rbx; sub $0x28, %rsp; mov $1, %ebp; call *%rdi; add $0x28, %rsp; pop %rbx; pop %rbp; ret
static const uint8_t code[] = {0x55, 0x53, 0x48, 0x83, 0xec, 0x28, 0xbd, 1, 0, 0, 0, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x28, 0x5b, 0x5d, 0xc3};

static uint8_t table[128];

static void write_table(const uint8_t *function)
{
	static const uint8_t cie[] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0};
	static const uint8_t rules[] = {0x41, 0x0e, 16, 0x86, 2, 0x41, 0x0e, 24, 0x83, 3, 0x44, 0x0e, 64, 0, 0, 0};
	const uint32_t head[2] = {36, 24 + 4};
	const uint64_t range[2] = {reinterpret_cast<uintptr_t>(function), sizeof(code)};

	std::memcpy(table, cie, 24);
	std::memcpy(table + 24, head, 8);
	std::memcpy(table + 32, range, 16);
	std::memcpy(table + 48, rules, 16); // and the end: a length of 0
}

int main()
{
	void *memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*function)(void (*)());
	int caught = 0;

	if (memory == MAP_FAILED)
		return 1;
	std::memcpy(memory, code, sizeof(code));
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC))
		return 1;
	std::memcpy(&function, &memory, sizeof(function));
	write_table(static_cast<const uint8_t *>(memory));
	__register_frame(table);
	for (int i = 0; i < ROUNDS; i++) {
		try {
			function(through);
		} catch (int value) {
			caught += value;
		}
	}
	__deregister_frame(table);
	std::printf("caught %d\n", caught);
	return 0;
}
