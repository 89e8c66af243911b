/* The command line: src/command/commands.c has the table of commands, src/pipeline.c the list of passes. */
#include "command/command.h"
#include "run/run.h"

int main(int argc, char **argv) {
    runtime_own_process();
    return command_main(argc, argv);
}
