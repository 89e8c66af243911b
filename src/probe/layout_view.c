/* Showing fragments. */
#include "probe/layout_view.h"
#include <stdio.h>
#include <string.h>

static const char *operand_words(char operand) {
    return operand == 'a'   ? "a (rows x contracted)"
           : operand == 'b' ? "b (contracted x columns)"
                            : "c and the result (rows x columns)";
}

static void add_head(text_buffer *out, const fragment_layout *l, const char *instruction) {
    text_add(out, "%s, operand %s: %d x %d, %d lanes of %d elements in %d registers of 32 bits (%s%s)\n", instruction,
             operand_words(l->operand), l->rows, l->columns, l->lanes, l->elements, fragment_layout_registers(l),
             l->documented ? "" : "not documented: ", l->source);
}

static int register_of(const fragment_layout *l, int element) {
    return element * l->bits / 32;
}

static void add_text(text_buffer *out, const fragment_layout *l, const char *instruction) {
    add_head(out, l, instruction);
    int parts = 32 / l->bits;
    text_add(out, "each entry: lane.register%s\n      ", parts > 1 ? ".part" : "");
    for (int column = 0; column < l->columns; column++)
        text_add(out, " %8d", column);
    for (int row = 0; row < l->rows; row++) {
        text_add(out, "\n%5d ", row);
        for (int column = 0; column < l->columns; column++) {
            int lane, element;
            char cell[24];
            fragment_layout_holder(l, row, column, &lane, &element);
            if (parts > 1)
                snprintf(cell, sizeof cell, "%d.%d.%d", lane, register_of(l, element), element % parts);
            else
                snprintf(cell, sizeof cell, "%d.%d", lane, element);
            text_add(out, " %8s", cell);
        }
    }
    text_add(out, "\n");
}

/* A colour a lane, far apart for neighbours. */
static void add_colour(text_buffer *out, int lane, int lanes) {
    text_add(out, "hsl(%d %d%% %d%%)", lane * 360 * 5 / 32 % 360, 55 + lane * 32 / lanes % 3 * 12, 74 + lane / 8 % 4 * 5);
}

static void add_svg(text_buffer *out, const fragment_layout *l, const char *instruction) {
    enum { WIDE = 46, HIGH = 30, LEFT = 40, TOP = 58 };
    int parts = 32 / l->bits, width = LEFT + l->columns * WIDE + 16, height = TOP + l->rows * HIGH + 34;
    text_add(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
             "font-family=\"system-ui, sans-serif\" "
             "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
             "<text x=\"%d\" y=\"22\" font-size=\"15\" font-weight=\"600\">%s</text>\n"
             "<text x=\"%d\" y=\"38\" fill=\"#60646c\">operand %s</text>\n",
             width < 420 ? 420 : width, height, width < 420 ? 420 : width, height, LEFT, instruction, LEFT,
             operand_words(l->operand));
    for (int column = 0; column < l->columns; column++)
        text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#60646c\">%d</text>\n",
                 LEFT + column * WIDE + WIDE / 2, TOP - 5, column);
    for (int row = 0; row < l->rows; row++) {
        text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#60646c\">%d</text>\n", LEFT - 6, TOP + row * HIGH + 19,
                 row);
        for (int column = 0; column < l->columns; column++) {
            int lane, element, x = LEFT + column * WIDE, y = TOP + row * HIGH;
            fragment_layout_holder(l, row, column, &lane, &element);
            text_add(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" stroke=\"#fff\" fill=\"", x, y, WIDE, HIGH);
            add_colour(out, lane, l->lanes);
            text_add(out, "\"/><text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-weight=\"600\">%d</text>", x + WIDE / 2,
                     y + 13, lane);
            text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#40444c\" font-size=\"9\">r%d", x + WIDE / 2,
                     y + 25, register_of(l, element));
            if (parts > 1)
                text_add(out, ".%d", element % parts);
            text_add(out, "</text>\n");
        }
    }
    text_add(out, "<text x=\"%d\" y=\"%d\" fill=\"#60646c\">each entry: its lane; its register%s</text>\n</svg>\n", LEFT,
             height - 12, parts > 1 ? " and the part of it, the lowest bits first" : "");
}

static void add_csv_row(text_buffer *out, const fragment_layout *l, int lane, int element) {
    int row, column;
    fragment_layout_place(l, lane, element, &row, &column);
    text_add(out, "%c,%d,%d,%d,%d,%d\n", l->operand, row, column, lane, register_of(l, element), element * l->bits % 32);
}

static const char csv_head[] = "operand,row,column,lane,register,bit\n";

void layout_view_fragment(text_buffer *out, const fragment_layout *l, const char *instruction, layout_form form) {
    if (form == LAYOUT_TEXT) {
        add_text(out, l, instruction);
    } else if (form == LAYOUT_SVG) {
        add_svg(out, l, instruction);
    } else {
        if (!out->length)
            text_add(out, "%s", csv_head);
        for (int row = 0; row < l->rows; row++)
            for (int column = 0; column < l->columns; column++) {
                int lane, element;
                fragment_layout_holder(l, row, column, &lane, &element);
                add_csv_row(out, l, lane, element);
            }
    }
}

static void add_line(text_buffer *out, const fragment_layout *l, int lane, int element, layout_form form) {
    int row, column, first = element * l->bits % 32;
    if (form == LAYOUT_CSV) {
        if (!out->length)
            text_add(out, "%s", csv_head);
        add_csv_row(out, l, lane, element);
        return;
    }
    fragment_layout_place(l, lane, element, &row, &column);
    text_add(out, "%c: row %d, column %d is in lane %d, register %d, bits %d to %d (element %d)\n", l->operand, row, column, lane,
             register_of(l, element), first, first + l->bits - 1, element);
}

void layout_view_register(text_buffer *out, const fragment_layout *l, int lane, int reg, layout_form form) {
    for (int element = 0; element < l->elements; element++)
        if (register_of(l, element) == reg)
            add_line(out, l, lane, element, form);
}

void layout_view_entry(text_buffer *out, const fragment_layout *l, int row, int column, layout_form form) {
    int lane, element;
    if (fragment_layout_holder(l, row, column, &lane, &element))
        add_line(out, l, lane, element, form);
}
