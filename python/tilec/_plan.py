"""What was made of a kernel, as plain Python values."""
from typing import NamedTuple, Optional

from ._library import JUDGEMENTS, SYMBOL_KINDS, Step as LibraryStep, Symbol as LibrarySymbol, Variant as LibraryVariant
from ._library import Verdict as LibraryVerdict
from ._library import lib, text


class Argument(NamedTuple):
    """One argument or result, as declared."""
    name: str
    declaration: str        # "q: f16[KV * G, D]"
    role: str               # "in", "out" or "update"
    is_scalar: bool
    type: str               # of the elements: "f16"; index arrays and lo..hi scalars are "i32"
    shape: tuple            # an expression for each dimension
    index_bound: Optional[str]
    is_injective: bool
    least: Optional[str]
    most: Optional[str]
    file: str
    line: int
    column: int


class Symbol(NamedTuple):
    """An extent, a static or a tile size."""
    name: str
    kind: str               # "extent", "static" or "tile"
    kernel: Optional[str]   # of a program: the kernel that has it; None: its own
    derived: Optional[str]  # the expression of `where S == ..`
    default: Optional[int]
    value: Optional[int]    # None where nothing has told it


class Verdict(NamedTuple):
    """One property of one kernel, judged."""
    kernel: str
    property: str           # "bounds", "race", ..
    subject: str
    judgement: str          # "proved", "refuted" or "not proved"
    file: Optional[str]
    line: int
    column: int
    explanation: Optional[str]
    witness: Optional[str]
    milliseconds: float


class Variant(NamedTuple):
    """Exactly one variant of a launch plan holds for each launch."""
    when: Optional[str]     # None: always
    tasks: str
    private_bytes: int


class Step:
    """One kernel of the plan."""

    def __init__(self, call, number, s):
        self.kernel = text(s.kernel)
        self.schedule = text(s.schedule)
        self.routes = [text(s.routes[i]) for i in range(s.route_count)]
        self.checks = [text(s.checks[i]) for i in range(s.check_count)]
        self.is_proved = bool(s.is_proved)
        self.proof_milliseconds = s.proof_milliseconds
        self.compile_milliseconds = s.compile_milliseconds
        self.text = text(s.explanation)
        self.kernel_ir = text(s.plan)
        self.code = text(s.code)
        self.variants = []
        v = LibraryVariant()
        while lib.tilec_variant_at(call, number, len(self.variants), v):
            self.variants.append(Variant(text(v.when), text(v.tasks), v.private_bytes))
        self.verdicts = []
        p = LibraryVerdict()
        while lib.tilec_verdict_at(call, number, len(self.verdicts), p):
            self.verdicts.append(Verdict(self.kernel, text(p.property), text(p.subject), JUDGEMENTS[p.judgement], text(p.file), p.line,
                                         p.column, text(p.explanation), text(p.witness), p.milliseconds))

    def __repr__(self):
        return f"<step {self.kernel}: {self.schedule}; {len(self.verdicts)} verdicts>"


def symbols_of(call):
    found = []
    s = LibrarySymbol()
    while lib.tilec_symbol_at(call, len(found), s):
        found.append(Symbol(text(s.name), SYMBOL_KINDS[s.kind], text(s.kernel), text(s.derived), s.default_value if s.has_default else None,
                            s.value if s.is_known else None))
    return found


class Plan:
    """How a kernel or program was compiled: a step for each kernel. str() is what `tilec run --explain` prints."""

    def __init__(self, name, call):
        self.name = name
        self.steps = []
        s = LibraryStep()
        while lib.tilec_step_at(call, len(self.steps), s):
            self.steps.append(Step(call, len(self.steps), s))
        self.symbols = symbols_of(call)

    @property
    def schedule(self):
        """Of a single kernel its schedule; of a program a dictionary from kernels to theirs."""
        return self.steps[0].schedule if len(self.steps) == 1 else {s.kernel: s.schedule for s in self.steps}

    @property
    def checks(self):
        """What is checked before each launch."""
        return [c for s in self.steps for c in s.checks]

    @property
    def proof(self):
        return [v for s in self.steps for v in s.verdicts]

    def __str__(self):
        return "".join(s.text for s in self.steps)

    def __repr__(self):
        return f"<plan of {self.name}: {', '.join(s.kernel for s in self.steps)}>"
