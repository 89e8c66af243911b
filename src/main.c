/* The command line: src/command/commands.c has the table of commands, src/pipeline.c the list of passes. */
#include "base/temporary.h"
#include "command/command.h"
#include "run/run.h"

int main(int argc, char **argv) {
    runtime_own_process();
    temporary_watch();
    return command_main(argc, argv);
}
