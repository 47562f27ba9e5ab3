#pragma once
/* Code that is made at run time: see jit.c. */

/* As the process starts: to whom its tables are passed on. */
void jit_resolve(void);

/* After a dlclose: they may be gone. */
void jit_forget(void);
