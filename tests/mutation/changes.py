"""The small changes that a line of C++ can suffer: what a slip of the hand or of thought would have left there.

`changes(text)` gives each as a Change: bytes `start` to `end` of the text, and what stands there instead.
"""
import collections
import re

Change = collections.namedtuple("Change", "kind start end new")

# Comments go, what is quoted is marked: neither is changed, and offsets stay.
NOT_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""", re.S)
QUOTED = "\1"

DECLARES = re.compile(r"^\s*(#|using |namespace |static_assert|template|typedef|friend |enum |struct |class |public:|private:)"
                      r"|\boperator\b")

# (kind, where, what becomes of each word); the word is the first group.
WORDS = [
    ("boundary", r" (<=|>=|<|>) ", {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}),
    ("comparison", r" (<=|>=|==|!=|<|>) ", {"==": "!=", "!=": "==", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}),
    ("arithmetic", r" (\+=|-=|\*=|[-+*/%]) ", {"+": "-", "-": "+", "*": "+", "/": "*", "%": "+", "+=": "-=", "-=": "+=", "*=": "+="}),
    ("logic", r" (&&|\|\|) ", {"&&": "||", "||": "&&"}),
    ("bits", r" (<<|>>|\|=|&=|[&|^]) ", {"&": "|", "|": "&", "<<": ">>", ">>": "<<", "|=": "&=", "&=": "|=", "^": "|"}),
    ("never", r"( \? )", {" ? ": " && false ? "}),
    ("always", r"( \? )", {" ? ": " || true ? "}),
    ("extreme", r"\bstd::(min|max)\b", {"min": "max", "max": "min"}),
    ("quantifier", r"\b(lower_bound|upper_bound|all_of|any_of|none_of)\b",
     {"lower_bound": "upper_bound", "upper_bound": "lower_bound", "all_of": "any_of", "any_of": "all_of", "none_of": "any_of"}),
    ("truth", r"\b(true|false)\b", {"true": "false", "false": "true"}),
    ("loop", r"\b(break|continue);", {"break": "continue", "continue": "break"}),
    ("flush", r"(::f(?:data)?sync\(\w+\))", collections.defaultdict(lambda: "0")),
]
WORDS = [(kind, re.compile(pattern), becomes) for kind, pattern, becomes in WORDS]

NUMBER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)([uUlL]*)(?![\w.'])")
PLACE_OF_NUMBER = re.compile(r"\b(case|array<|\[\d+\];)")  # where another number would not build, or name another thing
CALL = re.compile(r"^\s*((?!return\b|throw\b|if\b|for\b|while\b|switch\b|else\b|delete\b)[A-Za-z_:*(][\w:.\[\]*()>-]*\(.*\)[\w.()]*;)\s*$")
UNSEEN_CALL = re.compile(r"reserve\(|shrink_to_fit|static_cast<void>|prefetch")
FLUSH = re.compile(r"sync|flush|(?<![bc])lock|close")
ASSIGNMENT = re.compile(r"^\s*((?:\+\+|--)?[\w.\->\[\]()*:]+(?: [-+*/|&^]?= .*)?;)\s*$")
RETURN = re.compile(r"^\s*(?:if \(.*\) |else )?return (.+);\s*$")
CONDITION = re.compile(r"\b(if|while) \(")
GUARDED = re.compile(r" (return|continue|break|throw|fail|refuse)\b")
OPENING = re.compile(r"[\w>](\()")
PARAMETER = re.compile(r"(const |std::\w+ |\w+& )")


def code_of(text):
    return NOT_CODE.sub(lambda m: re.sub(r"[^\n]", QUOTED if m.group(0)[0] in "\"'R" else " ", m.group(0)), text)


def closing(code, opening):
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth == 0:
            return at
    return None


def arguments(code, opening, close):
    """The (start, end) of what stands between commas."""
    found, depth, start = [], 0, opening + 1
    for at in range(start, close):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if code[at] == "," and depth == 0:
            found.append((start, at))
            start = at + 1
    return found + [(start, close)]


def of_words(line, begin):
    for kind, pattern, becomes in WORDS:
        for m in pattern.finditer(line):
            yield Change(kind, begin + m.start(1), begin + m.end(1), becomes[m.group(1)])


def of_numbers(line, begin):
    if PLACE_OF_NUMBER.search(line):
        return
    for m in NUMBER.finditer(line):
        digits, suffix = m.groups()
        hexadecimal = digits[:2] == "0x"
        value = int(digits, 16 if hexadecimal else 10)
        for near in (value + 1, value - 1):
            if near >= 0:
                yield Change("number", begin + m.start(), begin + m.end(), (hex(near) if hexadecimal else str(near)) + suffix)


def of_statements(line, begin):
    """A call or an assignment that is not made."""
    call, assignment = CALL.match(line), ASSIGNMENT.match(line)
    if call and " " not in call.group(1).split("(", 1)[0] and not UNSEEN_CALL.search(line):
        yield Change("flush" if FLUSH.search(line.split("(", 1)[0]) else "call", begin + call.start(1), begin + call.end(1), ";")
    if assignment and re.search(r"= |\+\+|--", line):
        yield Change("assignment", begin + assignment.start(1), begin + assignment.end(1), ";")


def of_answers(line, begin, text, code):
    """An empty or the opposite answer; a throw that does not happen."""
    m = RETURN.match(line)
    if m and m.group(1) not in ("{}", "true", "false"):
        start, end = begin + m.start(1), begin + m.end(1)
        yield Change("empty", start, end, "{}")
        yield Change("opposite", start, end, f"!({text[start:end]})")
    for m in re.finditer(r"\bthrow\b", line):
        end = code.find(";", begin + m.start())
        if end >= 0:
            yield Change("throw", begin + m.start(), end + 1, ";")


def of_conditions(line, begin, text, code):
    """The condition the other way round; a guard that is not there."""
    for m in CONDITION.finditer(line):
        opening = begin + m.end() - 1
        close = closing(code, opening)
        if close is None:
            continue
        inside = code[opening + 1:close]
        if not (re.match(r"\s*(const |auto |int |std::|[A-Z]\w* )", inside) and " = " in inside):
            yield Change("negation", opening, close + 1, f"(!({text[opening + 1:close]}))")
        end = code.find(";", close)
        alone = not line[:m.start()].strip() and not re.match(r"\s*else", code[end + 1:])
        if m.group(1) == "if" and alone and GUARDED.match(code[close + 1:close + 12]):
            yield Change("guard", begin + m.start(), end + 1, ";")


def of_arguments(line, begin, text, code):
    """Two neighbours swapped."""
    for m in OPENING.finditer(line):
        opening = begin + m.start(1)
        close = closing(code, opening)
        if close is None or close - opening > 100 or re.search(r"\b(if|for|while|switch)$", line[:m.start(1)]):
            continue
        spans = arguments(code, opening, close)
        for (a, b), (c, d) in zip(spans, spans[1:]):
            left, right = text[a:b].strip(), text[c:d].strip()
            if left and right and left != right and "[" not in left + right and QUOTED not in code[a:d] and not PARAMETER.match(left):
                yield Change("swap", a, d, f"{right}, {left}")


def changes(text):
    code, begin = code_of(text), 0
    for line in code.split("\n"):
        if line.strip() and not DECLARES.search(line):
            yield from of_words(line, begin)
            yield from of_numbers(line, begin)
            yield from of_statements(line, begin)
            yield from of_answers(line, begin, text, code)
            yield from of_conditions(line, begin, text, code)
            yield from of_arguments(line, begin, text, code)
        begin += len(line) + 1


def lines_of(text, change):
    """The changed lines, as they were and as they become."""
    first, last = text.rfind("\n", 0, change.start) + 1, text.find("\n", change.end)
    last = len(text) if last < 0 else last
    return text[first:last], text[first:change.start] + change.new + text[change.end:last]
