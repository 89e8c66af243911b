/* The command line: src/command/commands.c has the table of commands, src/pipeline.c the list of passes. */
#include "command/command.h"

int main(int argc, char **argv) {
    return command_main(argc, argv);
}
