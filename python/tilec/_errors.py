"""Diagnostics as Python values."""
import warnings

from ._library import SEVERITIES, Diagnostic, lib, text


class Error(Exception):
    """What the compiler, a launch check or the binding of an argument refused, with its place.

    code       "E0301"; tilec.explain(code) tells more
    file, line, column    the place in the kernel's text (from 1); None and 0 when there is none
    message    one line
    caret      the mend, or None
    notes      further lines
    witness    the smallest case that shows it ("N = 1, i = 0"), or None
    text       everything as the command line prints it, the quoted line with the caret included
    others     the diagnostics after this one, as Error values; warnings among them have severity "warning"
    """

    def __init__(self, code, message, file=None, line=0, column=0, caret=None, notes=(), witness=None, text=None, severity="error"):
        self.code, self.message, self.file, self.line, self.column = code, message, file, line, column
        self.caret, self.notes, self.witness, self.severity = caret, list(notes), witness, severity
        self.others = []
        if text is None:
            place = "" if file is None else f"{file}:{line}:{column}: " if line else f"{file}: "
            text = f"{place}{severity} {code}: {message}\n" + "".join(f"     | {n}\n" for n in notes)
        self.text = text.rstrip("\n")
        super().__init__(self.text)

    def __reduce__(self):
        return _rebuild, (self.__dict__,)


def _rebuild(fields):
    e = Error.__new__(Error)
    Exception.__init__(e, fields["text"])
    e.__dict__.update(fields)
    return e


def diagnostics(context):
    """Those of this thread's last function on the context."""
    found = []
    d = Diagnostic()
    while lib.tilec_diagnostic_at(context, len(found), d):
        found.append(Error(text(d.code), text(d.message), text(d.file), d.line, d.column, text(d.caret),
                           [text(d.notes[i]) for i in range(d.note_count)], text(d.witness), text(d.text), SEVERITIES[d.severity]))
    return found


def failure(context):
    """The error to raise after a function said no: the first error, with the whole text of all."""
    found = diagnostics(context)
    errors = [d for d in found if d.severity == "error"]
    if not errors:
        return RuntimeError("tilec: the library gave no reason")
    first = errors[0]
    first.others = [d for d in found if d is not first]
    first.text = text(lib.tilec_error(context)).rstrip("\n")
    first.args = (first.text,)
    return first


def warn(context, depth):
    """Tells what went well but not as it should, such as a cache that cannot be written."""
    if lib.tilec_diagnostic_count(context):
        for d in diagnostics(context):
            warnings.warn(d.text, RuntimeWarning, stacklevel=depth + 1)
