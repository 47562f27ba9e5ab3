/* ARM's tables name these routines, which read the tables, so that the linker links them in (EHABI,
 * section 9.2). Whoever unwinds has routines of his own and never comes here. With these empty ones
 * the library does not need libgcc_s, which programs with musl do not have. */
void __aeabi_unwind_cpp_pr0(void);
void __aeabi_unwind_cpp_pr1(void);
void __aeabi_unwind_cpp_pr2(void);

void __aeabi_unwind_cpp_pr0(void)
{
}

void __aeabi_unwind_cpp_pr1(void)
{
}

void __aeabi_unwind_cpp_pr2(void)
{
}
