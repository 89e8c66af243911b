/* The front end: tile language text -> Tile IR. doc/language.md describes the language. */
#ifndef TILEC_LANG_LANG_H
#define TILEC_LANG_LANG_H
#include "tile/tile.h"

/* Parses, resolves, type-checks and builds Tile IR for everything in `text`. Reports several errors a run; NULL when there was any.
 * The text is registered with `diags` for quoting and must outlive it. */
tile_module *lang_load(arena *a, const char *file, const char *text, diag_list *diags);
#endif
