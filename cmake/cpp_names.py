# SPDX-License-Identifier: MIT
"""Reads the names that a C++ source file declares for itself, and the identifiers that it uses.

A tokenizer and a reader of declarations at namespace scope. The compiler reports a declaration that it misreads,
because two files of a group then declare the same name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<skip> //(?:\\\n|[^\n])* | /\*.*?\*/ )
    | (?P<string> (?:u8|[uUL])?R"(?P<delimiter>[^(]*)\(.*?\)(?P=delimiter)" | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])+' )
    | (?P<directive> ^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])* )
    | (?P<word> [A-Za-z_]\w* )
    | (?P<number> \.?\d(?:'?[\w.])* )
    | (?P<sign> ::|->|\[\[|\]\]|\S )""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
OPENING = {"(": ")", "[": "]", "{": "}", "[[": "]]"}
TYPES = ("class", "struct", "union", "enum")
LITERAL, BODY = '""', "{}"


@dataclass
class Names:
    things: set[str] = field(default_factory=set)  # types, variables, macros of the file
    functions: set[str] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)  # name -> declaration, which may be repeated
    used: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    changes_headers: bool = False  # a macro is before an #include

    @property
    def local(self) -> set[str]:
        return self.things | self.functions | set(self.aliases)


def names_of(source: Path) -> Names:
    return read(source.read_text())


def read(text: str) -> Names:
    names = Names()
    tokens: list[str] = []
    defined = False
    for match in TOKEN.finditer(text):
        kind, token = match.lastgroup, match[0]
        if kind == "directive":
            macro = re.match(r"\s*#\s*(define|undef)\s+(\w+)", token)
            if macro:
                defined = True
                names.things.add(macro[2])
            elif defined and re.match(r"\s*#\s*include\b", token):
                names.changes_headers = True
            names.used |= set(re.findall(r"[A-Za-z_]\w*", token)) if macro else set()
        elif kind in ("string", "delimiter"):
            tokens.append(LITERAL)
        elif kind != "skip":
            tokens.append(token)
    for word, following in unqualified(tokens):
        names.used.add(word)
        if following in ("(", "<"):
            names.called.add(word)
    Declarations(tokens, names).read()
    return names


def unqualified(tokens: list[str]) -> Iterator[tuple[str, str]]:
    """Yields each identifier outside of `a.b`, `a->b` and `a::b`, with the token behind it."""
    before = second_before = ""
    for token, following in zip(tokens, [*tokens[1:], ""]):
        if is_word(token) and before not in (".", "->") and not (before == "::" and is_word(second_before or "0")):
            yield token, following
        second_before, before = before, token


def is_word(token: str) -> bool:
    return token[0].isalpha() or token[0] == "_"


class Declarations:
    """Reads the declarations at namespace scope."""

    def __init__(self, tokens: list[str], names: Names):
        self.tokens, self.names = tokens, names
        self.anonymous = [False]
        self.statement: list[str] = []
        self.bodies: list[list[str]] = []

    def read(self) -> None:
        index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            if token == "{" and self.opens_scope():
                self.clear()
            elif token in OPENING:
                index = self.nested(index)
            elif token == "}":
                if len(self.anonymous) > 1:
                    self.anonymous.pop()
                self.clear()
            elif token == ";":
                self.end()
            else:
                self.statement.append(token)
            index += 1

    def clear(self) -> None:
        self.statement, self.bodies = [], []

    def opens_scope(self) -> bool:
        words = [word for word in self.statement if word != "inline"]
        if words[:1] == ["namespace"]:
            self.anonymous.append(self.anonymous[-1] or words == ["namespace"])
            return True
        if words == ["extern", LITERAL]:
            self.anonymous.append(self.anonymous[-1])
            return True
        return False

    def nested(self, index: int) -> int:
        """Skips brackets; the end of a function's body ends its declaration."""
        opening = self.tokens[index]
        end = self.closing(index)
        if opening == "{":
            self.statement.append(BODY)
            self.bodies.append(self.tokens[index + 1 : end])
            following = self.tokens[end + 1] if end + 1 < len(self.tokens) else "}"
            if is_word(following) or following in ("}", "[[", "~"):
                self.end()
        elif opening != "[[":  # an attribute declares nothing
            self.statement += self.tokens[index : end + 1]
        return end

    def closing(self, index: int) -> int:
        expected: list[str] = []
        for end in range(index, len(self.tokens)):
            token = self.tokens[end]
            if token in OPENING:
                expected.append(OPENING[token])
            elif expected and token == expected[-1]:
                expected.pop()
            elif token == "]]" and expected[-2:] == ["]", "]"]:  # a[b[c]]
                del expected[-2:]
            if not expected:
                return end
        return len(self.tokens) - 1

    def end(self) -> None:
        words = without_template(self.statement)
        if words and words[0] == "using" and words[1] != "namespace":
            self.names.aliases[words[1] if "=" in words else words[-1]] = " ".join(words)
        elif words and words[0] not in ("using", "static_assert", "namespace", BODY):
            self.declare(words)
        self.clear()

    def declare(self, words: list[str]) -> None:
        specifiers = set(words[: first_of(words, "(", "=", BODY)])
        own = bool(self.anonymous[-1] or specifiers & {"static", "inline", "typedef", "concept"})
        if words[0] in TYPES and (BODY in words or own):
            enumerators = self.enumerators(words) if words[0] == "enum" else set()
            name = type_name(words)
            self.names.things |= enumerators | ({name} if name else set())
            if name or enumerators:
                return
        if "operator" in words:
            self.names.things |= {" ".join(words[: first_of(words, BODY)])} if own else set()
            return
        variables = variable_names(words)
        if own or specifiers & {"const", "constexpr"} and "extern" not in specifiers:
            self.names.things |= variables
        if own and not variables and (name := function_name(words)):
            self.names.functions.add(name)

    def enumerators(self, words: list[str]) -> set[str]:
        if words[1:2] in (["class"], ["struct"]) or not self.bodies:
            return set()
        body = ["{", *self.bodies[0]]
        return {word for before, word in zip(body, body[1:]) if before in ("{", ",") and is_word(word)}


def without_template(words: list[str]) -> list[str]:
    while words[:2] == ["template", "<"]:
        words = words[after_angles(words, 1) :]
        if words[:1] == ["requires"]:
            words = words[1:]
    return words


def after_angles(words: list[str], index: int) -> int:
    depth = 0
    while index < len(words):
        depth += {"<": 1, ">": -1}.get(words[index], 0)
        index += 1
        if depth == 0:
            break
    return index


def first_of(words: list[str], *wanted: str) -> int:
    """The index of the first of these outside of template arguments, or the length."""
    index = 0
    while index < len(words):
        if words[index] in wanted:
            return index
        if words[index] == "<" and index and is_word(words[index - 1]):
            index = after_angles(words, index)
        else:
            index += 1
    return len(words)


def type_name(words: list[str]) -> str:
    """The name of a type that is declared here, without a scope before it."""
    rest = [word for word in words[1:] if word not in ("class", "struct")]
    if not rest or not is_word(rest[0]):
        return ""
    return rest[0] if len(rest) == 1 or rest[1] in (BODY, ":", "final", "<") else ""


def name_before(words: list[str], end: int) -> str:
    if end < 2 or not is_word(words[end - 1]) or words[end - 2] == "::":
        return ""
    return words[end - 1]


def function_name(words: list[str]) -> str:
    end = first_of(words, "(")
    return name_before(words, end) if end < len(words) else ""


def variable_names(words: list[str]) -> set[str]:
    """Returns those of `type a = 1, b{2}, c[3]`."""
    end = first_of(words, "=", BODY, "[", ",", "(")
    if words[end : end + 1] == ["("] or not (name := name_before(words, end)):
        return set()
    found, depth = {name}, 0
    for index in range(end, len(words) - 1):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(words[index], 0)
        if depth == 0 and words[index] == "," and is_word(words[index + 1]):
            found.add(words[index + 1])
    return found
