/* Banks of shared memory: which words an access touches, and how often a bank is asked. */
#include "probe/layout_view.h"
#include <stdio.h>
#include <string.h>

enum { BANKS = 32, WORD = 4, LANES = 32, MOST_PARTS = 128 };

int layout_swizzled(int swizzle, int address) {
    /* 128 bytes: bits 7 to 9 are added to bits 4 to 6; 64: bits 7, 8 to 4, 5; 32: bit 7 to 4. */
    int bits = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
    return address ^ (((address >> 7) & bits) << 4);
}

/* One instruction's addresses: of each lane, `bytes` of it. */
typedef struct one_access {
    int address[LANES], bytes;
} one_access;

const char *layout_access_fault(const layout_access_request *r) {
    static const char *const known[] = {"row", "column", "ldmatrix", "fragment"};
    bool found = false;
    for (int i = 0; i < 4; i++)
        found |= !strcmp(known[i], r->access);
    if (!found)
        return "--access: row, column, ldmatrix or fragment";
    if (r->swizzle != 0 && r->swizzle != 32 && r->swizzle != 64 && r->swizzle != 128)
        return "--swizzle: 0, 32, 64 or 128 bytes";
    if (r->stride < 1)
        return "--stride: 1 or more elements";
    if (!strcmp(r->access, "fragment") && (!r->fragment || r->fragment->operand == 'c' || r->fragment->lanes != LANES))
        return "--access fragment: --instruction names it, with operand a or b of a subgroup";
    if (r->fragment && r->fragment->bits != 8 * r->element_bytes)
        return "--element: of the size of the instruction's";
    int row = r->stride * r->element_bytes;
    if (!strcmp(r->access, "ldmatrix") && row % 16)
        return "ldmatrix reads rows that begin at multiples of 16 bytes: another --stride";
    if (r->fragment && row % WORD)
        return "registers are read as words: another --stride";
    return NULL;
}

/* Registers whose places lie side by side in every lane are read at once. */
static int joined(one_access *a, int count) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
        one_access *last = kept ? &a[kept - 1] : NULL;
        bool beside =
            last && (last->bytes == WORD || last->bytes == 2 * WORD) && last->bytes == a[i].bytes * (last->bytes / WORD);
        for (int lane = 0; lane < LANES && beside; lane++)
            beside = a[i].address[lane] == last->address[lane] + last->bytes;
        if (beside)
            last->bytes += a[i].bytes;
        else
            a[kept++] = a[i];
    }
    return kept;
}

/* The accesses of the request, one after the other. */
static int accesses(const layout_access_request *r, one_access *out) {
    int row = r->stride * r->element_bytes;
    memset(out, 0, sizeof *out);
    if (!strcmp(r->access, "fragment")) {
        const fragment_layout *l = r->fragment;
        int registers = fragment_layout_registers(l);
        for (int reg = 0; reg < registers; reg++)
            for (int lane = 0; lane < LANES; lane++) {
                int i, j;
                fragment_layout_place(l, lane, reg * 32 / l->bits, &i, &j);
                /* b is stored column by column, so that the parts of a register lie together. */
                out[reg].address[lane] = l->operand == 'a' ? i * row + j * r->element_bytes : j * row + i * r->element_bytes;
                out[reg].bytes = WORD;
            }
        return joined(out, registers);
    }
    bool along = !strcmp(r->access, "row");
    out->bytes = !strcmp(r->access, "column") ? r->element_bytes : 16;
    for (int lane = 0; lane < LANES; lane++)
        out->address[lane] = along ? lane * 16 : lane * row;
    return 1;
}

/* Lanes that are served together: 32 of 4 bytes or fewer, 16 of 8, 8 of 16. */
static int lanes_a_pass(int bytes) {
    return bytes <= 4 ? LANES : bytes == 8 ? LANES / 2 : LANES / 4;
}

/* Different words asked of each bank; the most of any is how long the pass takes. */
static int conflicts(const layout_access_request *r, const one_access *a, int first, int words[BANKS]) {
    int seen[BANKS][LANES * 4], most = 0, width = a->bytes < WORD ? WORD : a->bytes;
    memset(words, 0, BANKS * sizeof *words);
    for (int lane = first; lane < first + lanes_a_pass(a->bytes); lane++)
        for (int byte = 0; byte < width; byte += WORD) {
            int word = layout_swizzled(r->swizzle, a->address[lane] + byte) / WORD, bank = word % BANKS, i = 0;
            while (i < words[bank] && seen[bank][i] != word)
                i++;
            if (i == words[bank])
                seen[bank][words[bank]++] = word;
            most = words[bank] > most ? words[bank] : most;
        }
    return most;
}

static void add_text(text_buffer *out, const layout_access_request *r, const one_access *a, int count) {
    int words[BANKS], total = 0, least = 0;
    text_add(out, "%s: rows of %d elements of %d bytes, swizzle %d\n", r->access, r->stride, r->element_bytes, r->swizzle);
    for (int i = 0; i < count; i++) {
        int each = lanes_a_pass(a[i].bytes);
        for (int first = 0; first < LANES; first += each) {
            int most = conflicts(r, &a[i], first, words);
            total += most;
            least++;
            if (count > 1)
                text_add(out, "register %d, ", i);
            text_add(out, "lanes %d to %d, %d bytes each: %d cycle%s%s\n  first bank by lane:", first, first + each - 1,
                     a[i].bytes, most, most == 1 ? "" : "s", most > 1 ? ", conflicts" : "");
            for (int lane = first; lane < first + each; lane++)
                text_add(out, " %d", layout_swizzled(r->swizzle, a[i].address[lane]) / WORD % BANKS);
            text_add(out, "\n");
        }
    }
    text_add(out, "%d cycle%s where %d would do%s\n", total, total == 1 ? "" : "s", least, total > least ? "" : ": no conflict");
}

static void add_csv(text_buffer *out, const layout_access_request *r, const one_access *a, int count) {
    text_add(out, "access,lane,address,swizzled,bank\n");
    for (int i = 0; i < count; i++)
        for (int lane = 0; lane < LANES; lane++) {
            int at = layout_swizzled(r->swizzle, a[i].address[lane]);
            text_add(out, "%d,%d,%d,%d,%d\n", i, lane, a[i].address[lane], at, at / WORD % BANKS);
        }
}

/* A row an access's pass, a column a bank; a cell is how many different words are asked of it. */
static void add_svg(text_buffer *out, const layout_access_request *r, const one_access *a, int count) {
    enum { WIDE = 24, HIGH = 24, LEFT = 120, TOP = 62 };
    int passes = 0, at = 0, words[BANKS];
    for (int i = 0; i < count; i++)
        passes += LANES / lanes_a_pass(a[i].bytes);
    int width = LEFT + BANKS * WIDE + 90, height = TOP + passes * HIGH + 16;
    text_add(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
             "font-family=\"system-ui, sans-serif\" font-size=\"11\">\n"
             "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"16\" y=\"22\" font-size=\"15\" "
             "font-weight=\"600\">Words asked of each bank</text>\n"
             "<text x=\"16\" y=\"38\" fill=\"#60646c\">%s, rows of %d elements of %d bytes, swizzle %d</text>\n",
             width, height, width, height, r->access, r->stride, r->element_bytes, r->swizzle);
    for (int bank = 0; bank < BANKS; bank++)
        text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#60646c\" font-size=\"9\">%d</text>\n",
                 LEFT + bank * WIDE + WIDE / 2, TOP - 5, bank);
    for (int i = 0; i < count; i++)
        for (int first = 0; first < LANES; first += lanes_a_pass(a[i].bytes), at++) {
            int most = conflicts(r, &a[i], first, words), y = TOP + at * HIGH;
            text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#60646c\">", LEFT - 8, y + 16);
            if (count > 1)
                text_add(out, "r%d, ", i);
            text_add(out, "lanes %d–%d</text>\n", first, first + lanes_a_pass(a[i].bytes) - 1);
            for (int bank = 0; bank < BANKS; bank++) {
                static const char *const fills[] = {"#f0f1f3", "#b7dfc9", "#fbd9a5", "#f5b3a3", "#e5867b"};
                text_add(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" stroke=\"#fff\" fill=\"%s\"/>",
                         LEFT + bank * WIDE, y, WIDE, HIGH, fills[words[bank] > 4 ? 4 : words[bank]]);
                if (words[bank])
                    text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", LEFT + bank * WIDE + WIDE / 2,
                             y + 16, words[bank]);
            }
            text_add(out, "<text x=\"%d\" y=\"%d\" font-weight=\"600\">%d cycle%s</text>\n", LEFT + BANKS * WIDE + 10, y + 16,
                     most, most == 1 ? "" : "s");
        }
    text_add(out, "</svg>\n");
}

void layout_view_banks(text_buffer *out, const layout_access_request *r, layout_form form) {
    one_access a[MOST_PARTS];
    int count = accesses(r, a);
    if (form == LAYOUT_TEXT)
        add_text(out, r, a, count);
    else if (form == LAYOUT_CSV)
        add_csv(out, r, a, count);
    else
        add_svg(out, r, a, count);
}
