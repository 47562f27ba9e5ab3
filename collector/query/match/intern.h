#pragma once
/* Numbers for names, places and (name, module) pairs: base/intern.h. */
#include "base/intern.h"
