#pragma once
/* Unwind tables of code that is generated at run time; see jit.c. */

/* Called as the process starts: looks up the functions to which the library passes tables on. */
void jit_resolve(void);

/* Called after a dlclose, which may have unloaded these functions. */
void jit_forget(void);
