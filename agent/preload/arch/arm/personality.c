/* ARM's unwind tables name these routines, so that the linker links them in (EHABI, section 9.2). A
 * real unwinder has its own routines and never calls these. With empty ones the library does not
 * need libgcc_s, which programs with musl do not have. */
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
