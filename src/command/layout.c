/* tilec layout: stub */
#include "command/command.h"
int command_layout(const command_line *line) { (void)line; return EXIT_USAGE; }
