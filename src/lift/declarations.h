/* The declarations of a C++ text at namespace scope. Private to lift/. */
#ifndef TILEC_LIFT_DECLARATIONS_H
#define TILEC_LIFT_DECLARATIONS_H
#include "lift/tokens.h"

typedef struct declaration {
    int from, to;      /* tokens; `to` is behind the ; or } */
    int head;          /* the first token behind `template <...>` */
    int body;          /* the { of a function's body; -1 */
    int name;          /* the name of a function or function template; -1 */
    int arguments;     /* its ( ; -1 */
    int value;         /* the = of a variable; -1 */
    const char *scope; /* the namespaces around it: "math::" (one without a name gives nothing) */
    const char *opens; /* and what opens them: "namespace math { " */
    const char *closes;
    int depth;
    bool is_class; /* struct, class, union, enum, with or without a body */
} declaration;
typedef VEC(declaration) declaration_list;

void declarations_read(arena *a, const tokens *t, declaration_list *out);
/* Does one of these names stand in from..to, outside of a function's body? */
bool declaration_has(const tokens *t, const declaration *d, const char *const *names);
bool tokens_have(const tokens *t, int from, int to, const char *name);
#endif
