#pragma once
/* Code that is generated at run time; see jit.c. */

/* Called as the process starts: looks up the functions to which tables are passed on. */
void jit_resolve(void);

/* Called after a dlclose, which may have unloaded these functions. */
void jit_forget(void);
