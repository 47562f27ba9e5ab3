/* Which bytes are Thumb code the mapping symbols tell: $t begins it, $a and $d something else (ELF
 * for the Arm Architecture, 5.5.5). */
#include "tests/unit/unwind/foreign/sites.h"

#include <stdlib.h>

#include "agent/unwind/arch/arm/insn.h"

struct mark {
	uint64_t address;
	char kind;
};

static struct mark *marks;
static size_t mark_count;

static int by_address(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void read_marks(Elf *elf)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;
		Elf_Data *data;

		gelf_getshdr(s, &header);
		if (header.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(s, NULL);
		marks = calloc(header.sh_size / header.sh_entsize, sizeof(*marks));
		for (size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
			const char *name;
			GElf_Sym symbol;

			gelf_getsym(data, (int)i, &symbol);
			name = elf_strptr(elf, header.sh_link, symbol.st_name);
			if (name && name[0] == '$' && (!name[2] || name[2] == '.'))
				marks[mark_count++] = (struct mark){symbol.st_value, name[1]};
		}
	}
	qsort(marks, mark_count, sizeof(*marks), by_address);
}

bool sites_next(struct site *site, Elf *debug, const struct arch_code *code, uint64_t bias)
{
	if (!marks)
		read_marks(debug);
	for (; site->symbol + 1 < mark_count; site->symbol++, site->next = 0) {
		const struct mark *mark = &marks[site->symbol];
		uint64_t end = mark[1].address, at = site->next ? site->next : mark->address;
		const uint8_t *from = code->begin + (at + bias - code->address);
		struct insn insn;

		if ((mark->kind != 't' && mark->kind != 'a') || at >= end ||
		    !insn_read(from, from + (end - at), mark->kind == 't', &insn))
			continue;
		site->address = at;
		site->behind = at + (uint64_t)(insn.next - from);
		site->is_call = insn.kind == INSN_CALL;
		site->next = site->behind;
		return true;
	}
	return false;
}

const struct piece pieces[] = {
	/* ARM: pop {fp, pc}; Thumb: sub sp, 16; push {r4, r5, r6, lr}; ... blx grab */
	{"a Thumb function behind ARM code, a structure among its arguments",
	 {0xe8bd8800, 0xb570b084, 0xac054605, 0x000ee884, 0xe9dd4916, 0x4479030e, 0x5215f64c,
	  0x725bf2c0, 0xd00e4293, 0x9e066803, 0xdb1a2b00, 0x30044a10, 0xf852588a, 0x9a0f3023,
	  0x0109f102, 0x44064798, 0x46a49607, 0xe8bc462c, 0xc40f000f, 0x000fe8bc, 0x4628c40f,
	  0x3000f8dc, 0xe8bd6023, 0xb0044070, 0x42584770, 0xefc4f7ff},
	 26,
	 {.cfa_words = 8, .ra_words = 5}},
	/* push {r4, lr}; ... blx grab, whose four bytes are a bl in Thumb code; ... */
	{"ARM code whose call could be one of Thumb's",
	 {0xe92d4010, 0xe59f2060, 0xe08f2002, 0xe1a03001, 0xe353004d, 0x0a00000d,
	  0xe5903000, 0xe3530000, 0xba000006, 0xe59fc044, 0xe792200c, 0xe7923103,
	  0xe2411001, 0xe2800004, 0xe12fff33, 0xe8bd8010, 0xe2630000, 0xfafff7ac,
	  0xe3a00000, 0xeafffffa, 0xe3a02000, 0xe59f1018, 0xe08f1001, 0xe3a00002,
	  0xebfff76e, 0xe3a03003, 0xebfff76f, 0x00002168, 0x00000038, 0x00000c50},
	 18,
	 {.cfa_words = 2, .ra_words = 1}},
	/* push {r4-r7, lr}; add r7, sp, 12; push {r8-r11}; ... mov sp, r1; ... blx r2; ... sub r4,
	 * r7, 28; mov sp, r4; pop */
	{"clang: a frame with a base, r11 pushed apart",
	 {0xaf03b5f0, 0x0f00e92d, 0x4615b083, 0x4604460e, 0xba04e9d7, 0x9802e9d7, 0x3007204d,
	  0x0007f020, 0x0100ebad, 0x2001468d, 0xf8077008, 0x6a380c21, 0xf1b26802, 0xdd093fff,
	  0x4b116a79, 0x681b447b, 0x2022f853, 0x47903004, 0xe0034428, 0xf7ff4250, 0x4628fbc7,
	  0x1c21f817, 0xe9c44408, 0xe9c46500, 0xe9c40902, 0xf8c48b04, 0x69b8a018, 0x69f861e0,
	  0xf1a76220, 0x46a5041c, 0x0f00e8bd, 0xbf00bdf0},
	 18,
	 {.from_fp = true, .cfa_words = 2, .ra_words = 1, .fp_words = 2, .fp2_words = 6}},
	/* push {r4, r6, r7, lr}; add r7, sp, 8; ... mov sp, r3; ... blx r2 */
	{"clang: registers left out of a push",
	 {0xaf02b5d0, 0x1239f240, 0xf0231dd3, 0xebad0307, 0x441a0303, 0xf04f469d, 0xf8020c01,
	  0xf883cc01, 0x6802c000, 0x3ffff1b2, 0x4b09dd09, 0xeb013004, 0x447b0181, 0xf853681b,
	  0x47902022, 0x4250e003, 0xedc2f7ff, 0xf1a72000, 0x46a50408, 0xbf00bdd0, 0x00001636},
	 15,
	 {.from_fp = true, .cfa_words = 2, .ra_words = 1, .fp_words = 2}},
	/* push {r4-r9, fp, lr}; add fp, sp, 24; sub sp, sp, 8; ... mov sp, r7; ... blx r2 */
	{"clang: sp set from a register that is no frame's base",
	 {0xe92d4bf0, 0xe28db018, 0xe24dd008, 0xe1a09002, 0xe59f20bc, 0xe1a08003,
	  0xe59b6018, 0xe08f2002, 0xe1a0400d, 0xe5922000, 0xe5922000, 0xe50b2020,
	  0xe3002103, 0xe2823007, 0xe3c33007, 0xe0447003, 0xe0822007, 0xe1a0d007,
	  0xe3a05001, 0xe5425001, 0xe7445003, 0xe5902000, 0xe3720001, 0xda000007,
	  0xe59f3070, 0xe2800004, 0xe0811101, 0xe79f3003, 0xe7932102, 0xe12fff32},
	 30,
	 {.from_fp = true,
	  .from_fp2 = true,
	  .cfa_words = 2,
	  .ra_words = 1,
	  .fp_words = 5,
	  .fp2_words = 2}},
	{0},
};
