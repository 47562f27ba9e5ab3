/* What the tables of code for ARM name to have it linked in (EHABI, section 9.2): the routines that
 * read them. Who unwinds has his own, and is not led here; so the library needs none, nor whoever
 * brings them: musl's programs have no libgcc_s. */
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
