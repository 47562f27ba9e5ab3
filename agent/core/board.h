#pragma once
/* What this machine is called by its maker. */

#define BOARD_MAX 96

/* Returns the model: that of the device tree ("Raspberry Pi 4 Model B"), else the vendor's product
 * name of the firmware (DMI); "" if the machine has neither. It is read once. */
const char *board_name(void);
